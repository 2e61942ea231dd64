// Work items together cover every row of every (batch entry, KV head) exactly once in each phase,
// and each item points at the memory of its own.
#include "plan/requests.h"
#include "plan/task.h"

namespace regard::test {
namespace {

std::int64_t offset_in(const void* address, std::int64_t tensor, const ConstTensor& view) {
  const std::int64_t bytes = view.dtype == DType::f64 ? 8 : view.dtype == DType::f32 ? 4 : 2;
  return (static_cast<const std::byte*>(address) - fake_address(tensor)) / bytes;
}

/// The (batch entry, KV head) that an item works on, read from its query pointer.
struct Space {
  std::int64_t b, kv_head;
};

Space space_of(const Planned& p, const contract::DirectTask& task) {
  const Strides& strides = p.problem.q.strides;
  const std::int64_t offset = offset_in(task.q.data, 1, p.problem.q);
  const std::int64_t head = offset % strides[0] / strides[1];
  RC_ASSERT(offset % strides[1] == 0);
  RC_ASSERT(head % p.request.shape.group == 0);
  return {offset / strides[0], head / p.request.shape.group};
}

void assert_at(const void* address, std::int64_t tensor, const ConstTensor& view, std::int64_t b,
               std::int64_t head) {
  RC_ASSERT(offset_in(address, tensor, view) == b * view.strides[0] + head * view.strides[1]);
}

void assert_pointers(const Planned& p, const plan::Phase& phase, const contract::DirectTask& task,
                     Space space) {
  const std::int64_t head = space.kv_head * p.request.shape.group;
  const Outputs& outputs = p.problem.outputs;
  const bool main = phase.kind == plan::Phase::Kind::rows;
  assert_at(task.k.data, 2, p.problem.k, space.b, space.kv_head);
  assert_at(task.v.data, 3, p.problem.v, space.b, space.kv_head);
  RC_ASSERT(!task.out.data == !(main && outputs.out.data));
  RC_ASSERT(!task.lse.data == !(main && outputs.lse.data));
  RC_ASSERT(!task.weights.data == !(outputs.weights.data && main == p.problem.rows.empty()));
  if (task.out.data) assert_at(task.out.data, 4, outputs.out, space.b, head);
  if (task.lse.data) assert_at(task.lse.data, 5, outputs.lse, space.b, head);
  if (task.weights.data) assert_at(task.weights.data, 6, outputs.weights, space.b, head);
  RC_ASSERT(task.rows == (main ? nullptr : p.problem.rows.data()));
}

void assert_ranges(const Planned& p, const contract::DirectTask& task, std::int64_t b) {
  for (std::int64_t i = 0; i < p.request.shape.sq; ++i) {
    const problem::KeyRange range = problem::visible_keys(p.problem, b, i);
    RC_ASSERT(task.lo[i] == range.lo);
    RC_ASSERT(task.hi[i] == range.hi);
  }
}

void assert_covers(const Planned& p, const plan::Phase& phase, std::int64_t list_rows,
                   std::byte* scratch) {
  const std::int64_t rows = list_rows * p.request.shape.group;
  const std::int64_t most = p.plan.kernel->most_groups * p.plan.kernel->rows_per_group;
  std::vector<int> covered(std::size_t(p.spaces() * rows), 0);
  for (std::int64_t item = 0; item < phase.items; ++item) {
    const auto task = plan::make_task(p.problem, p.plan, phase, item, 0, scratch);
    const Space space = space_of(p, task);
    assert_pointers(p, phase, task, space);
    assert_ranges(p, task, space.b);
    RC_ASSERT(task.row_begin >= 0 && task.row_begin < task.row_end && task.row_end <= rows);
    RC_ASSERT(task.row_end - task.row_begin <= most);
    RC_ASSERT(task.row_begin % p.plan.kernel->rows_per_vector == 0);
    const std::int64_t first = (space.b * p.request.shape.kv_heads + space.kv_head) * rows;
    for (auto row = task.row_begin; row < task.row_end; ++row) ++covered[std::size_t(first + row)];
  }
  for (const int times : covered) RC_ASSERT(times == 1);
}

RC_GTEST_PROP(Items, CoverEveryRowOnce, ()) {
  const Planned p(any_request(150), any_isa());
  RC_LOG() << p.request;
  const Request& r = p.request;
  std::vector<std::byte> memory(std::size_t(p.plan.scratch_bytes));
  plan::fill_ranges(p.problem, plan::range_arrays(p.problem, memory.data()));

  const bool all_weights = r.weights && r.rows.empty();
  const bool main = r.out || r.lse || all_weights;
  assert_covers(p, p.plan.main, main ? r.shape.sq : 0, memory.data());
  const bool chosen = r.weights && !r.rows.empty();
  assert_covers(p, p.plan.weights, chosen ? std::int64_t(r.rows.size()) : 0, memory.data());
}

TEST(Items, StartWithTheLastRowsOfAHead) {
  const Planned p({.shape = {2, 2, 1, 1000, 1000, 64, 64}});
  const plan::Phase& phase = p.plan.main;
  ASSERT_GT(phase.items_per_space, 1);
  std::vector<std::byte> memory(std::size_t(p.plan.scratch_bytes));
  std::int64_t before = 0;
  for (std::int64_t item = 0; item < phase.items; ++item) {
    const auto task = plan::make_task(p.problem, p.plan, phase, item, 0, memory.data());
    const bool first_of_head = item % phase.items_per_space == 0;
    EXPECT_EQ(task.row_end, first_of_head ? phase.length : before);
    before = task.row_begin;
  }
}

TEST(Items, AreNoneWhereNothingIsAskedFor) {
  const Planned p({.shape = {2, 2, 1, 9, 9, 4, 4}, .out = false, .lse = false, .threads = 4});
  EXPECT_EQ(p.plan.main.items, 0);
  EXPECT_EQ(p.plan.weights.items, 0);
  EXPECT_EQ(p.plan.workers, 1);
}

}  // namespace
}  // namespace regard::test
