// The decode loop: one chunk of keys for a few query rows of some heads. Blocks of 64 keys in
// ascending order; in each, passes of up to eight rows of all heads take the block's keys, then its
// values.
#pragma once

#include <cstdint>

#include "contract/decode.h"
#include "kernels/decode_finish.h"
#include "kernels/decode_loops.h"
#include "kernels/decode_pass.h"
#include "kernels/decode_rows.h"
#include "kernels/decode_scores.h"
#include "kernels/decode_tiles.h"
#include "kernels/pairs.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

/// A task, its passes and how it reads its rows.
template <class T>
struct DecodeRun {
  static constexpr int kMostPasses = 32;

  const contract::DecodeTask& task;
  const RowLoops<T>* key_loops;
  const RowLoops<T>* value_loops;
  RowReader k, v;
  DecodeScore<T> how;
  T query_factor, rest;               ///< rest is left to the scores
  DecodePass<T> passes[kMostPasses];  ///< head by head
  int pass_count = 0;                 ///< of one head
  alignas(64) T kept[kOrdered];       ///< as Queries has it

  DecodeRun(const contract::DecodeTask& decode_task, const RowLoops<T>& keys,
            const RowLoops<T>& values)
      : task(decode_task), key_loops(&keys), value_loops(&values) {
    const contract::DecodeSequence& first = task.sequences[0];
    k = reader(first.k, task.dims, *key_loops);
    v = reader(first.v, task.value_dims, *value_loops);
    how.score = &first.score;
    const Units units = units_of(first.score);
    how.exponent = T(units.exponent);
    query_factor = T(units.factor);
    rest = 1;
    if (key_loops->lane_columns > 1) {
      const SplitFactor split = split_factor(float(units.factor));
      query_factor = split.power;
      rest = split.rest;
    }
    pass_count = int(ceil_to(task.row_end - task.row_begin, kPassRows<T>) / kPassRows<T>);
    if (k.padded == k.columns) return;
    T ones[kOrdered] = {};
    const std::int64_t count = k.columns - (k.padded - key_loops->columns);
    for (std::int64_t d = 0; d < count; ++d) ones[d] = 1;
    key_loops->gather(ones, key_loops->columns, T(1), kept);
  }

  RowReader reader(const contract::KeyRows& rows, std::int64_t columns, const RowLoops<T>& loops) {
    RowReader reader;
    reader.shape = shape_of(rows.format);
    reader.converts = rows.format != kNative<T> && loops.native;
    reader.columns = columns;
    reader.padded = ceil_to(columns, loops.columns);
    const std::int64_t row_bytes = dense_row_bytes(reader.shape, columns);
    reader.beyond = dense_row_bytes(reader.shape, reader.padded) - row_bytes;
    // What is read past a row's end lies before the end of the next one.
    const bool reaches_next = reader.beyond <= row_bytes && rows.row >= row_bytes;
    reader.in_place = !reader.converts && rows.dense && (reader.beyond == 0 || reaches_next);
    reader.panel = task.scratch + task.layout.keys_bytes;
    reader.scales = task.scratch + task.layout.scales_bytes;
    return reader;
  }
};

/// The query of a row times the factor, in the order in which the loader gives columns.
template <class T>
void pack_query(const DecodeRow& row, const DecodeRun<T>& run, T* query) {
  const contract::Source& q = row.sequence->q;
  alignas(64) T numbers[kOrdered];
  for (std::int64_t d = 0; d < run.k.padded; d += kOrdered) {
    const std::int64_t count = smaller(kOrdered, run.task.dims - d);
    __builtin_memset(numbers, 0, sizeof numbers);
    if (count > 0) {
      read_elements<T>(q.type, element_at(q, row.head, row.i, d), q.column, count, numbers);
    }
    run.key_loops->gather(numbers, smaller(kOrdered, run.k.padded - d), run.query_factor,
                          query + d / run.key_loops->lane_columns);
  }
}

template <class T>
void start_pass(DecodeRun<T>& run, DecodePass<T>& pass) {
  constexpr int lanes = Simd<T>::kLanes;
  const int keys = keys_per_vector<T>(pass.width);
  const std::int64_t query_size = run.k.padded / run.key_loops->lane_columns;
  const std::int64_t out_size = run.v.padded;
  const std::int64_t chunk = run.task.key_begin / kDecodeChunk;
  for (int r = 0; r < pass.width; ++r) {
    T* out = pass.out + r * out_size;
    pass.m[r] = r < pass.count ? kLowest<T> : T(0);
    store(pass.l + r * lanes, broadcast(T(0)));
    for (std::int64_t d = 0; d < out_size; d += lanes) store(out + d, broadcast(T(0)));
    for (int k = 0; k < keys; ++k) pass.slopes[r * keys + k] = pass.positions[r * keys + k] = 0;
    if (r >= pass.count) {
      __builtin_memset(pass.queries + r * query_size, 0, std::size_t(query_size) * sizeof(T));
      continue;
    }
    const DecodeRow& row = pass.rows[r];
    pack_query(row, run, pass.queries + r * query_size);
    if (row.sequence->score.slopes.data) {
      const T slope = head_element<T>(row.sequence->score.slopes, row.head);
      for (int k = 0; k < keys; ++k) pass.slopes[r * keys + k] = slope;
    }
    if (run.task.resumes) {
      const T* partial = partial_of<T>(*row.sequence, chunk, row.row, out_size);
      pass.m[r] = partial[0];
      __builtin_memcpy(pass.l + r * lanes, partial + kPartialLanes<T>, lanes * sizeof(T));
      __builtin_memcpy(out, partial + kPartialValues<T>, std::size_t(out_size) * sizeof(T));
    }
  }
}

template <class T>
void save_pass(const DecodeRun<T>& run, const DecodePass<T>& pass) {
  constexpr int lanes = Simd<T>::kLanes;
  const std::int64_t out_size = run.v.padded;
  for (int r = 0; r < pass.count; ++r) {
    const DecodeRow& row = pass.rows[r];
    T* partial = partial_of<T>(*row.sequence, run.task.key_begin / kDecodeChunk, row.row, out_size);
    partial[0] = pass.m[r];
    __builtin_memcpy(partial + kPartialLanes<T>, pass.l + r * lanes, lanes * sizeof(T));
    __builtin_memcpy(partial + kPartialValues<T>, pass.out + r * out_size,
                     std::size_t(out_size) * sizeof(T));
  }
}

/// Cuts the task's rows of one head into passes.
template <class T>
void add_passes(DecodeRun<T>& run, std::int64_t head) {
  const contract::DecodeTask& task = run.task;
  const contract::DecodeSequence* sequences = task.sequences + head * task.head_step;
  std::int64_t sequence = 0;
  std::int64_t first = 0;  // row of the task where the sequence begins
  std::int64_t at = head * run.pass_count;
  for (std::int64_t begin = task.row_begin; begin < task.row_end; ++at) {
    std::byte* memory = task.scratch + task.layout.passes_bytes + at * task.layout.pass_size_bytes;
    DecodePass<T>& pass = run.passes[at];
    pass = DecodePass<T>(memory, run.k.padded, run.how.score->bias.data);
    pass.count = int(smaller(kPassRows<T>, task.row_end - begin));
    while (pass.width < pass.count) pass.width *= 2;
    for (int r = 0; r < pass.count; ++r, ++begin) {
      while (begin - first >= sequences[sequence].rows) {
        first += sequences[sequence++].rows;
      }
      const contract::DecodeSequence& own = sequences[sequence];
      const std::int64_t row = begin - first;
      const std::int64_t i = row / task.group;
      pass.rows[r] = {&own, row, row % task.group, i, own.lo[i], own.hi[i]};
    }
    start_pass(run, pass);
  }
}

/// f.operator()<width>() for the pass's width, a power of two.
template <class T, int kWidth = 1, class F>
[[gnu::always_inline]] inline void with_width(int width, const F& f) {
  if constexpr (kWidth < kPassRows<T>) {
    if (width > kWidth) return with_width<T, kWidth * 2>(width, f);
  }
  f.template operator()<kWidth>();
}

template <bool kGeneral, class T>
void weigh(const DecodeRun<T>& run, const DecodePass<T>& pass, Keys block) {
  with_width<T>(pass.width, [&]<int kWidth>() {
    if (pass.whole) {
      weigh_pass<kGeneral, true, T, kWidth>(pass, block, run.how, run.v.padded);
    } else {
      weigh_pass<kGeneral, false, T, kWidth>(pass, block, run.how, run.v.padded);
    }
  });
}

/// Whether some row sees the first key behind the block, so that it may be read. Masks are not
/// looked at: with one the answer is no.
template <class T>
bool sees_next(const DecodeRun<T>& run, std::int64_t head, Keys block) {
  if (block.end >= run.task.key_end || run.how.score->mask.data || run.how.score->bias.data) {
    return false;
  }
  const DecodePass<T>* passes = run.passes + head * run.pass_count;
  for (int n = 0; n < run.pass_count; ++n) {
    for (int r = 0; r < passes[n].count; ++r) {
      if (seen_keys(passes[n].rows[r], {block.end, block.end + 1}) != 0) return true;
    }
  }
  return false;
}

/// Reads the tiles of a block, of which nothing is set yet.
template <class T>
void read_tiles(const DecodeRun<T>& run, const RowReader& reader, HeadRows rows, Keys block,
                std::uint64_t seen, TileRows (&tiles)[kTiles]) {
  const contract::DecodeSequence& sequence = run.task.sequences[rows.head * run.task.head_step];
  const bool next = reader.in_place && reader.beyond > 0 && sees_next(run, rows.head, block);
  KeyPlace place = place_of(sequence, block.begin);
  for (int t = 0; t < kTiles; ++t) {
    const std::int64_t key = block.begin + t * kTileKeys;
    if (key >= block.end) break;
    if (t > 0) place = next_tile(sequence, place, key);
    auto bits = std::uint32_t(seen >> (t * kTileKeys) & 0x1ffff);
    if (t == kTiles - 1 && next) bits |= 0x10000;
    read_tile<T>(sequence.*rows.which, sequence, reader, key, place, bits, t, tiles[t]);
    if (tiles[t].data && reader.in_place) {
      look_ahead(run.task, rows, block, key, place, run.passes[0].width, tiles[t]);
    }
  }
}

/// Which of the loops of a format is for a width, a power of two.
inline int log_of(int width) {
  return __builtin_ctz(unsigned(width));
}

/// Which keys of a block some row of a head sees.
template <class T>
std::uint64_t some_seen(const DecodeRun<T>& run, std::int64_t head) {
  const DecodePass<T>* passes = run.passes + head * run.pass_count;
  std::uint64_t some = 0;
  for (int n = 0; n < run.pass_count; ++n) {
    for (int r = 0; r < passes[n].count; ++r) some |= passes[n].seen[r];
  }
  return some;
}

/// From the keys of a block to the weights of a head.
template <bool kGeneral, class T>
void weigh_block(DecodeRun<T>& run, std::int64_t head, Keys block) {
  DecodePass<T>* passes = run.passes + head * run.pass_count;
  for (int n = 0; n < run.pass_count; ++n) look_at_keys(passes[n], block);
  const std::uint64_t some = some_seen(run, head);
  if (some == 0) return;
  TileRows tiles[kTiles];
  read_tiles(run, run.k, {head, &contract::DecodeSequence::k}, block, some, tiles);
  for (int n = 0; n < run.pass_count; ++n) {
    DecodePass<T>& pass = passes[n];
    std::uint64_t every = ~std::uint64_t{0};
    for (int r = 0; r < pass.count; ++r) every &= pass.seen[r];
    pass.whole = every == ~std::uint64_t{0};
    const Queries<T> queries{pass.queries,
                             run.k.padded / (Simd<T>::kLanes * run.key_loops->lane_columns),
                             run.k.padded != run.k.columns ? run.kept : nullptr, run.rest};
    run.key_loops->score[log_of(pass.width)](tiles, queries, pass.scores);
    weigh<kGeneral>(run, pass, block);
  }
}

/// Adds the values of a block to the outputs of a head.
template <class T>
void add_block(DecodeRun<T>& run, std::int64_t head, Keys block) {
  const std::uint64_t some = some_seen(run, head);
  if (some == 0) return;
  TileRows tiles[kTiles];
  read_tiles(run, run.v, {head, &contract::DecodeSequence::v}, block, some, tiles);
  for (int n = 0; n < run.pass_count; ++n) {
    const DecodePass<T>& pass = run.passes[head * run.pass_count + n];
    run.value_loops->values[log_of(pass.width)](
        {tiles, pass.scores, pass.seen, pass.out, run.v.padded / Simd<T>::kLanes}, pass.whole);
  }
}

template <bool kGeneral, class T>
void run_keys(DecodeRun<T>& run) {
  const contract::DecodeTask& task = run.task;
  for (std::int64_t key = task.key_begin; key < task.key_end; key += kDecodeBlock) {
    const Keys block{key, smaller(key + kDecodeBlock, task.key_end)};
    for (std::int64_t h = 0; h < task.heads; ++h) weigh_block<kGeneral>(run, h, block);
    for (std::int64_t h = 0; h < task.heads; ++h) add_block(run, h, block);
  }
}

template <class T, class Formats>
void run_decode(const contract::DecodeTask& task) noexcept {
  const FlushDenormals flush;
  const contract::DecodeSequence& first = task.sequences[0];
  DecodeRun<T> run(task, Formats::keys(first.k.format, task.dims),
                   Formats::values(first.v.format, task.value_dims));
  for (std::int64_t head = 0; head < task.heads; ++head) add_passes(run, head);
  task.sequences[0].score.general ? run_keys<true>(run) : run_keys<false>(run);
  for (int n = 0; n < task.heads * run.pass_count; ++n) save_pass(run, run.passes[n]);
}

template <class T, class Formats>
constexpr contract::DecodeKernel decode_kernel() {
  return {.unit = Formats::kUnit,
          .run = run_decode<T, Formats>,
          .finish = finish_decode<T, Formats>,
          .rows_per_pass = kPassRows<T>,
          .most_passes = DecodeRun<T>::kMostPasses,
          .keys_per_block = kDecodeBlock,
          .keys_per_chunk = kDecodeChunk,
          .element_bytes = sizeof(T),
          .columns_per_chunk = Formats::most_columns(),
          .partial_values = kPartialValues<T>,
          .pass_bytes = DecodePass<T>::kFixedBytes};
}

}  // namespace regard::REGARD_ISA
