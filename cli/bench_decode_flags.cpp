// The flags of `bench decode`, its page of help, and the calls that they ask for.
#include <fmt/core.h>

#include <string>

#include "bench_decode.h"
#include "command.h"
#include "flags.h"
#include "kv_types.h"

namespace regard::cli {
namespace {

constexpr char kDecodeGroup[] = "The grid of 'bench decode'";
constexpr char kHelp[] =
    "Sets `decode` of one row a query head beside a plain read of the same bytes with the\n"
    "widest loads that the instruction set has, in turns in this process by as many\n"
    "threads, awake for both. The rows are all combinations of what the flags list. GB/s counts\n"
    "K, V and their scales as stored, once, and nothing else; read is that of the plain read,\n"
    "and share is the one over the other, best over best. From ram, layers take turns, and\n"
    "between two uses of one at least four times the last-level cache is read. With --prefix it\n"
    "is one call over sequences that share their first tokens beside a call for each: gain is\n"
    "the least time of all calls apart over that of the one. Of every row 16 answers are checked\n"
    "over what the cache holds before it is timed.\n"
    "\n"
    "Examples:\n"
    "  regard bench decode --kv f32,f16,int8 --rows 1,4 --repeats 20\n"
    "  regard bench decode --prefix 7000 --rows 1,4\n";
constexpr std::int64_t kSharedKeys = 7200, kKeys = 8192;

/// What the numbers of a cache can be.
std::int64_t in_range(const char* name, std::int64_t value) {
  constexpr std::int64_t kMost = 0x7fffffff;
  if (value < 1) throw Error(fmt::format("{}: {} is below 1", name, value));
  if (value > kMost) throw Error(fmt::format("{}: {} is more than {}", name, value, kMost));
  return value;
}

/// So many times `bytes` can be counted.
void require_room(const char* name, std::int64_t count, double bytes) {
  constexpr double kMostBytes = 0x1p56;
  if (double(count) * bytes <= kMostBytes) return;
  throw Error(fmt::format("{}: {} of {:.4g} bytes each take more than {:.4g}", name, count, bytes,
                          kMostBytes));
}

/// Of one query row a KV head.
double query_bytes(const DecodeWorkload& workload) {
  return double(element_bytes(workload.q_dtype)) * double(workload.kv_heads) *
         double(workload.head_size);
}

void require_room(const DecodeWorkload& workload) {
  require_room("--keys", workload.keys,
               double(workload.kv_heads) *
                   double(kv_token_bytes(workload.types, workload.head_size, workload.head_size)));
  require_room("--rows", workload.rows, query_bytes(workload));
}

template <class T>
std::vector<T> or_else(const std::vector<T>& given, T absent) {
  return given.empty() ? std::vector<T>{absent} : given;
}

void add_lists(CLI::App& app, DecodeFlags& flags) {
  add_each_value(app,
                 {"--kv", "TYPE,...",
                  "types of K and V, or K_TYPE/V_TYPE: " + list_kv_types() + "; default f32"},
                 [&flags](const std::string& text) {
                   const std::vector<KvTypes> more = parse_kv_types("--kv", text);
                   flags.types.insert(flags.types.end(), more.begin(), more.end());
                 });
  add_each_value(app,
                 {"--q-dtype", "DTYPE,...", "type of queries and out: f32 (default), f16, bf16"},
                 [&flags](const std::string& text) {
                   for (const std::string& dtype : split(text, ',')) {
                     constexpr DType dtypes[] = {DType::f32, DType::f16, DType::bf16};
                     flags.q_dtypes.push_back(
                         dtypes[parse_choice("--q-dtype", dtype, {"f32", "f16", "bf16"})]);
                   }
                 });
  add_each_value(app, {"--rows", "N,...", "query rows that share a KV head; default 1"},
                 [&flags](const std::string& text) {
                   for (const std::int64_t rows : parse_integers("--rows", text, ',')) {
                     flags.rows.push_back(rows);
                   }
                 });
  add_each_value(app,
                 {"--page-tokens", "N,...",
                  "tokens of a page, or 'contiguous'; default contiguous, with --prefix 64"},
                 [&flags](const std::string& text) {
                   for (const std::string& tokens : split(text, ',')) {
                     flags.page_tokens.push_back(
                         tokens == "contiguous"
                             ? 0
                             : in_range("--page-tokens",
                                        parse_integers("--page-tokens", tokens, ',').front()));
                   }
                 });
  add_each_value(
      app, {"--memory", "ram|cache,...", "layers in rotation (default), or one repeated"},
      [&flags](const std::string& text) {
        for (const std::string& memory : split(text, ',')) {
          flags.memory.push_back(MemoryKind(parse_choice("--memory", memory, {"ram", "cache"})));
        }
      });
}

}  // namespace

const char* DecodeFlags::given() const {
  if (!types.empty()) return "--kv";
  if (!q_dtypes.empty()) return "--q-dtype";
  if (!rows.empty()) return "--rows";
  if (!page_tokens.empty()) return "--page-tokens";
  if (!memory.empty()) return "--memory";
  if (kv_heads) return "--kv-heads";
  if (keys) return "--keys";
  if (head_size) return "--head-size";
  if (prefix) return "--prefix";
  return sequences ? "--sequences" : nullptr;
}

void add_decode_flags(CLI::App& app, DecodeFlags& flags) {
  begin_group(app, kDecodeGroup);
  add_lists(app, flags);
  add_integer(app, {"--kv-heads", "N", "default 8"}, flags.kv_heads);
  add_integer(app, {"--keys", "N", "of a sequence; default 8192, with --prefix 7200"}, flags.keys);
  add_integer(app, {"--head-size", "N", "default 128"}, flags.head_size);
  add_integer(app, {"--prefix", "N", "tokens that sequences share"}, flags.prefix);
  add_integer(app, {"--sequences", "N", "how many share them; default 8"}, flags.sequences);
}

Page decode_page(const std::vector<std::string>& groups) {
  Page page = {"bench decode [FLAGS]", kHelp, {kDecodeGroup}};
  page.groups.insert(page.groups.end(), groups.begin(), groups.end());
  return page;
}

std::vector<DecodeWorkload> grid_of(const DecodeFlags& flags,
                                    const std::vector<std::int64_t>& threads) {
  DecodeWorkload workload;
  workload.kv_heads = in_range("--kv-heads", flags.kv_heads.value_or(8));
  workload.keys = in_range("--keys", flags.keys.value_or(flags.prefix ? kSharedKeys : kKeys));
  workload.head_size = in_range("--head-size", flags.head_size.value_or(128));
  std::vector<DecodeWorkload> grid;
  for (const std::int64_t count : threads) {
    workload.threads = int(count);
    for (const MemoryKind memory : or_else(flags.memory, MemoryKind::ram)) {
      workload.memory = memory;
      for (const std::int64_t page_tokens :
           or_else(flags.page_tokens, std::int64_t{flags.prefix ? 64 : 0})) {
        workload.page_tokens = page_tokens;
        for (const KvTypes& types : or_else(flags.types, DecodeWorkload{}.types)) {
          workload.types = types;
          for (const DType q_dtype : or_else(flags.q_dtypes, DType::f32)) {
            workload.q_dtype = q_dtype;
            for (const std::int64_t rows : or_else(flags.rows, std::int64_t{1})) {
              workload.rows = in_range("--rows", rows);
              require_room(workload);
              grid.push_back(workload);
            }
          }
        }
      }
    }
  }
  return grid;
}

SharedWorkload shared_of(const DecodeFlags& flags, const DecodeWorkload& each) {
  SharedWorkload workload;
  workload.each = each;
  workload.prefix = in_range("--prefix", *flags.prefix);
  workload.sequences = in_range("--sequences", flags.sequences.value_or(8));
  require_room("--sequences", workload.sequences, double(each.rows) * query_bytes(each));
  if (workload.prefix >= each.keys) {
    throw Error(
        fmt::format("--prefix: {} is not below the {} of --keys", workload.prefix, each.keys));
  }
  return workload;
}

}  // namespace regard::cli
