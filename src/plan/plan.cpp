#include "plan/plan.h"

#include <algorithm>
#include <numeric>

#include "plan/rounding.h"
#include "problem/visible.h"

namespace regard::plan {
namespace {

using contract::DirectKernel;
using problem::Problem;

// Items for each worker, so that the last ones even out.
constexpr std::int64_t kItemsPerWorker = 4;
// Keys of one item of the mass phase, or a block of them: its rows are packed once for all.
constexpr std::int64_t kMassKeys = 384;
// Below this many multiply-adds for each, about 10 us, a second thread costs more than it brings
// where it has gone to sleep since the last call; one still awake would pay from 2e5 on.
constexpr double kLeastWorkPerThread = 5e5;

contract::DirectLayout make_layout(const Problem& p, const DirectKernel& kernel) {
  const std::int64_t row_bytes = kernel.rows_per_group * kernel.element_bytes;
  const std::int64_t block_bytes = align(kernel.keys_per_block * row_bytes);
  const std::int64_t panel_keys = converts_inputs(p) ? kernel.panel_keys : 0;
  const std::int64_t dims = round_up(p.d, kernel.depth);
  const std::int64_t out_dims = round_up(p.dv, kernel.columns_per_tile);
  const std::int64_t key_bytes = std::int64_t{sizeof(std::int32_t)} * kernel.rows_per_group;
  contract::DirectLayout layout;
  layout.bias_bytes = block_bytes;
  layout.keys_bytes = layout.bias_bytes + (p.bias.data ? block_bytes : 0);
  layout.values_bytes = layout.keys_bytes + align(panel_keys * dims * kernel.operand_bytes);
  layout.groups_bytes = layout.values_bytes + align(panel_keys * out_dims * kernel.operand_bytes);
  layout.out_bytes = align(dims * kernel.rows_per_group * kernel.operand_bytes);
  layout.state_bytes = layout.out_bytes + align(out_dims * row_bytes);
  layout.top_bytes = layout.state_bytes + align(kernel.state_values_per_row * row_bytes);
  layout.group_size_bytes =
      layout.top_bytes + align(problem::top_count(p.outputs) * (row_bytes + key_bytes));
  return layout;
}

/// By shape, type, precision and ISA alone. Weights and statistics of few rows come from the loop
/// that more rows would take.
void choose_path(const Problem& p, const contract::KernelTable& table, Plan& plan) {
  const bool fits = p.dtype == DType::bf16 && p.precision == Precision::default_;
  const bool unit = fits && !table.tiles_bf16->emulated;
  const contract::DirectKernel* direct =
      p.compute == DType::f64 ? table.direct_f64 : table.direct_f32;
  if (p.path != Path::automatic) {
    plan.path = p.path;
    plan.path_reason = "asked for";
    plan.decode_rows = p.path == Path::decode ? INT64_MAX : 0;
    plan.kernel = p.path == Path::tiles ? table.tiles_bf16 : direct;
    return;
  }
  plan.kernel = unit ? table.tiles_bf16 : direct;
  plan.decode_rows = plan.kernel->few_rows;
  if (p.sq * p.group <= plan.decode_rows) {
    plan.path = Path::decode;
    plan.path_reason = "few query rows share a KV head";
  } else if (unit) {
    plan.path = Path::tiles;
    plan.path_reason = "bf16 in, and a unit that multiplies it";
  } else {
    plan.path_reason =
        !fits ? p.dtype == DType::bf16 ? "precision high keeps weights f32" : "tiles are for bf16"
              : "this ISA has no unit for products of bf16";
  }
}

int count_workers(const Problem& p, int threads) {
  const double work =
      double(p.batch) * double(p.heads) * double(p.sq) * double(p.skv) * double(p.d + p.dv);
  return useful_workers(work, threads);
}

void count_items(std::int64_t spaces, Phase& phase) {
  phase.items_per_space = divide_up(phase.length, phase.item_size);
  phase.items = spaces * phase.items_per_space;
}

/// Vectors of rows to be cut into items: the same cut in each space.
struct Cut {
  std::int64_t spaces = 0;
  std::int64_t vectors = 0;  ///< of one space
  std::int64_t most = 0;     ///< vectors of one item
  int workers = 1;
};

/// Vectors that the busiest worker takes if every space is cut into items of `size`.
std::int64_t longest_share(const Cut& cut, std::int64_t size) {
  return divide_up(cut.spaces * divide_up(cut.vectors, size), cut.workers) * size;
}

/// Vectors of one item where several workers share the items: enough items for each, of at least
/// two vectors, and as many as come out even between the workers.
std::int64_t even_item_size(const Cut& cut) {
  const std::int64_t finest = divide_up(cut.vectors, 2);
  const std::int64_t wanted = divide_up(cut.workers * kItemsPerWorker, cut.spaces);
  std::int64_t items = std::min(std::max(divide_up(cut.vectors, cut.most), wanted), finest);
  std::int64_t best = divide_up(cut.vectors, items);
  const std::int64_t step = cut.workers / std::gcd<std::int64_t>(cut.spaces, cut.workers);
  for (int n = 0; n < 4; ++n) {
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): step is 1 or more
    items = (items / step + 1) * step;
    if (items > finest) break;
    const std::int64_t size = divide_up(cut.vectors, items);
    // Larger items read K and V less often, which is worth more than 2% of evenness.
    if (double(longest_share(cut, best)) > 1.02 * double(longest_share(cut, size))) best = size;
  }
  return best;
}

Phase make_row_phase(const Problem& p, const Plan& plan, Phase::Kind kind) {
  const DirectKernel& kernel = *plan.kernel;
  const std::int64_t list = kind == Phase::Kind::chosen ? std::int64_t(p.rows.size()) : p.sq;
  Phase phase{.kind = kind, .length = list * p.group};
  const std::int64_t spaces = p.batch * p.kv_heads;
  if (spaces * phase.length == 0) return phase;
  const std::int64_t most_groups = std::clamp(kernel.item_bytes / plan.layout.group_size_bytes,
                                              std::int64_t{1}, kernel.most_groups);
  if (plan.workers == 1) {
    const std::int64_t groups = divide_up(phase.length, kernel.rows_per_group);
    phase.item_size = divide_up(groups, divide_up(groups, most_groups)) * kernel.rows_per_group;
  } else {
    phase.item_size =
        kernel.rows_per_vector *
        even_item_size({.spaces = spaces,
                        .vectors = divide_up(phase.length, kernel.rows_per_vector),
                        .most = most_groups * kernel.rows_per_group / kernel.rows_per_vector,
                        .workers = plan.workers});
  }
  count_items(spaces, phase);
  return phase;
}

Phase make_mass_phase(const Problem& p, const Plan& plan) {
  Phase phase{.kind = Phase::Kind::mass,
              .length = p.skv,
              .item_size = round_up(kMassKeys, plan.kernel->keys_per_block)};
  count_items(p.batch * p.heads, phase);
  return phase;
}

void take_phases(const Problem& p, Plan& plan) {
  const Outputs& o = p.outputs;
  const bool stats = o.entropy.data || o.top_weights.data || o.top_keys.data || o.key_mass.data;
  const bool all_weights = o.weights.data && p.rows.empty();
  const bool results = plan.path != Path::decode && (o.out.data || o.lse.data);
  if (results || stats || all_weights) {
    plan.main = make_row_phase(p, plan, Phase::Kind::rows);
  }
  if (o.weights.data && !p.rows.empty()) {
    plan.weights = make_row_phase(p, plan, Phase::Kind::chosen);
  }
  if (o.key_mass.data) plan.mass = make_mass_phase(p, plan);
}

bool any_decodes(const Problem& p, const Plan& plan) {
  if (!p.packed()) return plan.path == Path::decode;
  for (std::int64_t n = 0; n < p.batch; ++n) {
    if (decodes(p, plan.decode_rows, n)) return true;
  }
  return false;
}

void take_scratch(const Problem& p, Plan& plan) {
  const DirectKernel& kernel = *plan.kernel;
  const std::int64_t item_rows = std::max(plan.main.item_size, plan.weights.item_size);
  const std::int64_t groups = divide_up(item_rows, kernel.rows_per_group);
  const std::int64_t sums_bytes =
      align(plan.mass.item_size * kernel.rows_per_group * std::int64_t{sizeof(double)});
  const std::int64_t group_bytes =
      std::max(groups * plan.layout.group_size_bytes,
               plan.mass.items > 0 ? plan.layout.group_size_bytes + sums_bytes : std::int64_t{0});
  const std::int64_t all_rows = p.q.shape[0] * p.heads * p.q.shape[2];
  plan.ranges_bytes = align(2 * std::int64_t{sizeof(std::int32_t)} * problem::stored_ranges(p));
  if (plan.mass.items > 0) plan.kept_bytes = align(3 * all_rows * kernel.element_bytes);
  plan.worker_bytes = plan.layout.groups_bytes + group_bytes;
  plan.scratch_bytes = plan.ranges_bytes + plan.kept_bytes + plan.workers * plan.worker_bytes;
  if (plan.decode) plan.scratch_bytes = std::max(plan.scratch_bytes, plan.decode->scratch_bytes);
}

}  // namespace

bool has_general_scores(const Problem& p) noexcept {
  return p.softcap != 0 || p.bias.data || p.alibi_slopes.data || p.mask.data;
}

bool decodes(const Problem& p, std::int64_t most_rows, std::int64_t n) noexcept {
  return p.group * (p.packed() ? problem::row_count(p, n) : p.sq) <= most_rows;
}

int useful_workers(double work, int threads) noexcept {
  const double useful = std::max(1.0, work / kLeastWorkPerThread);
  return int(std::min(double(std::max(threads, 1)), useful));
}

bool converts_inputs(const Problem& p) noexcept {
  return p.dtype == DType::f16 || p.dtype == DType::bf16;
}

double count_passes(const Problem& p, const Plan& plan) noexcept {
  const bool weights = p.outputs.weights.data && p.rows.empty();
  const bool stats = p.outputs.entropy.data || problem::top_count(p.outputs) > 0;
  const bool raw = p.weights_stage != Stage::softmax;
  double passes = (plan.main.items > 0 ? 1 : 0) + (plan.decode ? 1 : 0);
  if (stats || (weights && !raw)) passes += 1;
  if (weights && raw) passes += 1;
  if (plan.mass.items > 0) passes += 1;
  const double chosen =
      double(plan.weights.length) / double(std::max<std::int64_t>(1, p.sq * p.group));
  return passes + (plan.weights.items > 0 ? 2 * chosen : 0);
}

Plan make_plan(const Problem& p, const contract::KernelTable& table, int threads) {
  Plan plan;
  choose_path(p, table, plan);
  plan.workers = count_workers(p, p.threads > 0 ? std::min(p.threads, threads) : threads);
  plan.layout = make_layout(p, *plan.kernel);
  if (any_decodes(p, plan) && (p.outputs.out.data || p.outputs.lse.data)) {
    plan.decode =
        make_decode_plan({.problem = p, .most_rows = plan.decode_rows}, table, plan.workers);
  }
  take_phases(p, plan);
  const std::int64_t items = std::max({plan.main.items, plan.weights.items, plan.mass.items});
  plan.workers = int(std::min<std::int64_t>(plan.workers, std::max<std::int64_t>(items, 1)));
  take_scratch(p, plan);
  return plan;
}

TileCount count_tiles(const Problem& p, const Plan& plan) noexcept {
  const bool decodes = plan.path == Path::decode && plan.decode;
  const std::int64_t width =
      decodes ? plan.decode->kernel->rows_per_pass : plan.kernel->rows_per_group;
  const std::int64_t keys =
      decodes ? plan.decode->kernel->keys_per_block : plan.kernel->keys_per_tile;
  const std::int64_t length = decodes ? p.sq * p.group : plan.main.length;
  const std::int64_t distinct = problem::distinct_ranges(p);
  const std::int64_t repeats = p.kv_heads * (p.batch / std::max<std::int64_t>(distinct, 1));
  TileCount count;
  for (std::int64_t b = 0; b < std::min(distinct, p.batch); ++b) {
    const problem::KeyRule rule = problem::key_rule(p, b);
    for (std::int64_t first = 0; first < length; first += width) {
      const std::int64_t last = std::min(first + width, length) - 1;
      std::int64_t lo = p.skv;
      std::int64_t hi = 0;
      for (std::int64_t i = first / p.group; i <= last / p.group; ++i) {
        const problem::KeyRange range = rule.row(i);
        if (range.lo >= range.hi) continue;
        lo = std::min(lo, range.lo);
        hi = std::max(hi, range.hi);
      }
      if (lo < hi) count.visited += (divide_up(hi, keys) - lo / keys) * repeats;
      count.total += divide_up(p.skv, keys) * repeats;
    }
  }
  return count;
}

}  // namespace regard::plan
