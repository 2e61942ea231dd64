#include "regard/kv_report.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/guard.h"
#include "cache/read_tokens.h"
#include "cache/view.h"
#include "check/kv_row.h"
#include "check/walk.h"
#include "problem/decode_call.h"

namespace regard {
namespace {

/// The question, with the numbers before they were stored.
struct Asked {
  const ConstTensor& q;
  const ConstTensor& k;
  const ConstTensor& v;
  Options options;
  HeldKeys held{};
};

Asked asked_of(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
               const Options& options) {
  Asked asked{q, k, v, options};
  asked.options.weights_stage = Stage::capped;
  return asked;
}

/// Walks the rows of two oracles that are prepared.
Status compare(const Oracle& exact, const Oracle& stored, std::int64_t keys,
               const KvReportSettings& settings, KvReport& report) {
  const std::int64_t batch = exact.out_shape()[0];
  const std::int64_t heads = exact.out_shape()[1];
  KvReport made;
  std::vector<judging::Tally> tallies;
  for (std::int64_t n = 0; n < batch * heads; ++n) tallies.emplace_back(n / heads, n % heads);
  judging::Tally all;
  OracleRow exact_row, stored_row;
  judging::Walk walk(exact.out_shape(), keys, {settings.rows, settings.seed, settings.progress});
  Status status = walk.each([&](std::int64_t b, std::int64_t h, std::int64_t i) {
    Status row_status = exact.row(b, h, i, exact_row);
    if (row_status.ok()) row_status = stored.row(b, h, i, stored_row);
    if (!row_status.ok()) return row_status;
    KvRowReport& row = made.rows.emplace_back(judging::compare_rows(exact_row, stored_row));
    row.b = b;
    row.h = h;
    row.i = i;
    tallies[std::size_t(b * heads + h)].take(row);
    all.take(row);
    return row_status;
  });
  if (!status.ok()) return status;
  for (const judging::Tally& tally : tallies) made.heads.push_back(tally.summary());
  made.all = all.summary();
  report = std::move(made);
  return {};
}

/// `view` is sound, and of the shape that was asked.
Status report_over(const Asked& asked, const KvView& view, const KvReportSettings& settings,
                   KvReport& report) {
  Oracle exact, stored;
  Status status = exact.prepare_cached(asked.q, asked.k, asked.v, asked.options, asked.held);
  if (status.ok()) status = judging::require_count("rows", settings.rows);
  if (!status.ok()) return status;
  const std::vector<float> k = cache::read_tokens(view, view.k);
  const std::vector<float> v = cache::read_tokens(view, view.v);
  status = stored.prepare_cached(asked.q, regard::view(k.data(), asked.k.shape),
                                 regard::view(v.data(), asked.v.shape), asked.options, asked.held);
  if (!status.ok()) return status;
  return compare(exact, stored, asked.k.shape[2], settings, report);
}

Status report_view(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
                   const KvView& view, const Options& options, const KvReportSettings& settings,
                   KvReport& report) {
  problem::DecodeCall call;
  Status status = problem::make_decode_call(q, view, {}, {}, options, call);
  if (status.ok()) status = problem::check_decode_memory(call, 0);
  if (!status.ok()) return status;
  const auto count = std::int64_t(view.lengths.size());
  const std::int64_t keys = cache::longest_length(view);
  status = problem::check_shape("k", k.shape, {count, view.kv_heads, keys, view.k.head_size});
  if (status.ok()) {
    status = problem::check_shape("v", v.shape, {count, view.kv_heads, keys, view.v.head_size});
  }
  if (!status.ok()) return status;
  Asked asked = asked_of(q, k, v, options);
  asked.options.kv_len = view.lengths;
  asked.options.path = Path::automatic;  // decode was asked for, perhaps: the oracle has none
  asked.held = {view.held_from, view.keep_first};
  return report_over(asked, view, settings, report);
}

/// Every batch entry of k and v in a sequence of its own.
Status fill(const ConstTensor& k, const ConstTensor& v, KvCache& cache,
            std::vector<std::int64_t>& sequences) {
  const auto entry = [](ConstTensor tensor, std::int64_t b) {
    const std::int64_t bytes = b * tensor.strides[0] * element_bytes(tensor.dtype);
    if (tensor.data) tensor.data = static_cast<const std::byte*>(tensor.data) + bytes;
    tensor.shape[0] = 1;
    return tensor;
  };
  for (std::int64_t b = 0; b < k.shape[0]; ++b) {
    std::int64_t sequence = 0;
    Status status = cache.add(sequence);
    if (status.ok()) status = cache.append(sequence, entry(k, b), entry(v, b));
    if (!status.ok()) return status;
    sequences.push_back(sequence);
  }
  return {};
}

Status report_types(const Asked& asked, const KvTypes& types, const KvReportSettings& settings,
                    KvReport& report) {
  Oracle call;
  Status status = call.prepare_cached(asked.q, asked.k, asked.v, asked.options);
  if (!status.ok()) return status;
  const auto [batch, kv_heads, keys, d] = asked.k.shape;
  KvCacheOptions options{.k_type = types.k,
                         .v_type = types.v,
                         .kv_heads = std::max<std::int64_t>(kv_heads, 1),
                         .k_head_size = d,
                         .v_head_size = asked.v.shape[3]};
  const std::int64_t pages = (keys + options.page_tokens - 1) / options.page_tokens;
  options.pages = std::max<std::int64_t>(batch * pages, 1);
  KvCache cache;
  std::vector<std::int64_t> sequences;
  cache::OwnedView owned;
  status = KvCache::create(options, cache);
  if (status.ok() && kv_heads > 0) status = fill(asked.k, asked.v, cache, sequences);
  if (status.ok()) status = cache::view_of(*cache.state(), sequences, owned);
  if (!status.ok()) return status;
  return report_over(asked, owned.view, settings, report);
}

}  // namespace

Status report_kv(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
                 const KvTypes& types, const Options& options, const KvReportSettings& settings,
                 KvReport& report) noexcept {
  return base::guarded(
      [&] { return report_types(asked_of(q, k, v, options), types, settings, report); });
}

Status report_kv(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
                 const KvView& cache, const Options& options, const KvReportSettings& settings,
                 KvReport& report) noexcept {
  return base::guarded([&] { return report_view(q, k, v, cache, options, settings, report); });
}

Status report_kv(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
                 const KvCache& cache, std::span<const std::int64_t> sequences,
                 const Options& options, const KvReportSettings& settings,
                 KvReport& report) noexcept {
  return base::guarded([&]() -> Status {
    cache::OwnedView owned;
    Status status = cache::view_of(cache, sequences, owned);
    if (!status.ok()) return status;
    return report_view(q, k, v, owned.view, options, settings, report);
  });
}

}  // namespace regard
