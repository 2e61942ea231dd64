#include "options.h"

#include <fmt/format.h>

#include <limits>

#include "arrays.h"
#include "command.h"
#include "flags.h"
#include "text.h"

namespace regard::cli {
namespace {

constexpr char kMeaning[] = "What attention means";
constexpr char kEngine[] = "How it is computed";

void add_score_flags(CLI::App& app, AttentionFlags& flags) {
  add_number(app,
             {"--softcap", "NUMBER", "a score s becomes NUMBER tanh(s / NUMBER); default 0: off"},
             flags.softcap);
  add_text(app,
           {"--bias", "FILE",
            "numbers added to the scores, of shapes as for --mask; -inf hides the key"},
           flags.bias);
  add_text(app,
           {"--alibi-slopes", "FILE",
            "(H) or (B,H): a score loses slope x the distance from the row's position to the key"},
           flags.alibi_slopes);
  add_text(app,
           {"--sinks", "FILE",
            "(H): one more logit in the denominator of each query head, with no value"},
           flags.sinks);
}

void add_visibility_flags(CLI::App& app, AttentionFlags& flags) {
  add_text(app,
           {"--mask", "FILE",
            "bool, true where a row reads a key: the last 1 to 4 axes of (B,H,Sq,Skv), each of "
            "that length or 1, whatever --layout is"},
           flags.mask);
  add_value(app,
            {"--window", "L,R",
             "a row reads the key of its own position, L keys before it and R behind; -1: all"},
            [&flags](const std::string& text) {
              flags.window = parse_integers("--window", text, ',');
              if (flags.window.size() == 2) return;
              throw Error("--window: '" + text + "' is not two numbers LEFT,RIGHT");
            });
  add_integers(app,
               {"--q-len", "N,...", "rows of each batch entry that exist; those behind give 0"},
               flags.q_len);
  add_integers(app, {"--kv-len", "N,...", "keys of each batch entry that exist"}, flags.kv_len);
}

}  // namespace

/// Aligned to the last axes of (B, H, Sq, Skv).
ConstTensor AttentionFlags::loaded(const char* option, const std::string& text) const {
  if (text.empty()) return {};
  const io::Array& array = arrays_.emplace_back(load_option_array(option, text));
  const std::size_t rank = array.shape.size();
  if (rank < 1 || rank > 4) {
    throw Error(fmt::format("{}: rank {} of shape {} is not in 1 to 4", option, rank,
                            shape_text(array.shape)));
  }
  return view_of(array, option, weights_axes(rank));
}

/// (H), or (B, H) where `most_rank` is 2.
ConstTensor AttentionFlags::loaded_per_head(const char* option, const std::string& text,
                                            std::size_t most_rank) const {
  if (text.empty()) return {};
  const io::Array& array = arrays_.emplace_back(load_option_array(option, text));
  const bool per_batch = array.shape.size() == 2 && most_rank == 2;
  return view_of(array, option, per_batch ? Axes{0, 1} : Axes{1});
}

Options AttentionFlags::options() const {
  Options options;
  options.scale = scale;
  options.softcap = softcap.value_or(0);
  options.causal = causal;
  options.q_offset = q_offset;
  if (window.size() == 2) options.window = {window[0], window[1]};
  options.q_len = q_len;
  options.kv_len = kv_len;
  options.rows = rows;
  options.mask = loaded("mask", mask);
  options.bias = loaded("bias", bias);
  options.alibi_slopes = loaded_per_head("alibi_slopes", alibi_slopes, 2);
  options.sinks = loaded_per_head("sinks", sinks, 1);
  options.precision = precision;
  options.path = path;
  const std::int64_t wanted = threads.value_or(0);
  constexpr std::int64_t least = std::numeric_limits<int>::min();
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  if (wanted < least || wanted > most) {
    throw Error(fmt::format("--threads: {} is not in [{}, {}]", wanted, least, most));
  }
  options.threads = int(wanted);
  return options;
}

void add_meaning_flags(CLI::App& app, AttentionFlags& flags) {
  begin_group(app, kMeaning);
  add_number(app, {"--scale", "NUMBER", "factor on q.k, used as it is; default 1/sqrt(D)"},
             flags.scale);
  add_choice<Causal>(app, "--causal",
                     "none (default): every row reads every key; top_left: row 0 reads key 0 "
                     "alone; bottom_right: the last row reads every key",
                     {{"none", Causal::none},
                      {"top_left", Causal::top_left},
                      {"bottom_right", Causal::bottom_right}},
                     flags.causal);
  add_integers(app,
               {"--q-offset", "N,...",
                "row i has position i + N, so that with --causal it reads keys 0 to i + N; one "
                "number, or one for each batch entry"},
               flags.q_offset);
  add_visibility_flags(app, flags);
  add_score_flags(app, flags);
  begin_group(app, "Flags");
}

void add_engine_flags(CLI::App& app, AttentionFlags& flags) {
  begin_group(app, kEngine);
  add_integer(app, {"--threads", "N", "default 0: as many as OMP_NUM_THREADS or the CPUs allow"},
              flags.threads);
  add_choice<Path>(app, "--path",
                   "pins a loop; default auto: tiles for bf16 where the CPU multiplies it, else "
                   "direct",
                   named(path_name, {Path::automatic, Path::direct, Path::tiles, Path::decode}),
                   flags.path);
  add_choice<Precision>(
      app, "--precision", "high keeps weights in f32 for half types; f32 and f64 do not differ",
      named(precision_name, {Precision::default_, Precision::high}), flags.precision);
  begin_group(app, "Flags");
}

}  // namespace regard::cli
