#include "check/search.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "base/read.h"
#include "check/conventions.h"
#include "check/walk.h"

namespace regard::judging {
namespace {

/// Whether every row fits; leaves in `telling` whether some row could not have fitted ours.
bool all_fit(Judge& judge, const std::vector<RowVerdict>& rows, bool& telling) {
  for (const RowVerdict& row : rows) {
    RowVerdict verdict;
    if (!judge.judge(row.b, row.h, row.i, verdict).ok() || verdict.units > 1) return false;
    telling = telling || judge.allowed(row) < row.error;
  }
  return true;
}

/// Where element `offset` of a dense tensor of any order of axes stands.
Shape place_of(std::int64_t offset, const ConstTensor& tensor) {
  std::array<std::size_t, 4> order = {0, 1, 2, 3};
  std::ranges::stable_sort(order, std::greater(), [&](auto axis) { return tensor.strides[axis]; });
  Shape place{};
  for (const std::size_t axis : order) {
    if (tensor.shape[axis] == 1) continue;
    place[axis] = offset / tensor.strides[axis];
    offset %= tensor.strides[axis];
  }
  return place;
}

/// Where results are read in another order, the memory that failed belongs to another row, which
/// has to fit too: one wrong place among many equal numbers is no layout.
bool moved_places_fit(Judge& judge, const Setting& asked, const Setting& setting,
                      const std::vector<RowVerdict>& failed) {
  if (setting.exchanged) return true;  // the same memory, row by row
  for (const RowVerdict& row : failed) {
    if (row.what == RowVerdict::What::weights) continue;
    const bool out = row.what == RowVerdict::What::out;
    const ConstTensor& read = out ? setting.out : setting.lse;
    const ConstTensor& given = out ? asked.out : asked.lse;
    if (read.strides == given.strides) continue;
    const std::int64_t offset =
        base::broadcast_offset(given, {row.b, row.h, row.i, out ? row.d : 0});
    const Shape place = place_of(offset, read);
    RowVerdict verdict;
    if (!judge.judge(place[0], place[1], place[2], verdict).ok() || verdict.units > 1) return false;
  }
  return true;
}

bool fits(const Setting& asked, const Setting& setting, const Evidence& evidence) {
  Judge judge;
  // Some alternatives make no sense of the shapes at hand.
  if (!judge.prepare(setting).ok()) return false;
  bool telling = false, unused = false;
  return all_fit(judge, evidence.failed.rows(), telling) && telling &&
         all_fit(judge, evidence.passed.rows(), unused) &&
         moved_places_fit(judge, asked, setting, evidence.failed.rows());
}

Convention described(std::span<const Alternative* const> found, const Evidence& evidence) {
  Convention result;
  for (const Alternative* alternative : found) {
    result.name.append(result.name.empty() ? "" : ", ").append(alternative->name);
    result.sentence.append(result.sentence.empty() ? "this kernel " : ", and it ")
        .append(alternative->phrase);
  }
  result.rows_fitted = std::int64_t(evidence.failed.rows().size() + evidence.passed.rows().size());
  return result;
}

}  // namespace

void Reservoir::show(const RowVerdict& row) {
  ++shown_;
  if (rows_.size() < kMost) {
    rows_.push_back(row);
    return;
  }
  const auto place = std::uniform_int_distribution<std::int64_t>(0, shown_ - 1)(engine_);
  if (place < std::int64_t(kMost)) rows_[std::size_t(place)] = row;
}

Status find_convention(const Setting& asked, const Evidence& evidence,
                       const std::function<bool()>& go_on, Convention& convention) {
  for (const Alternative& one : alternatives()) {
    if (!one.applies(asked)) continue;
    if (!go_on()) return stopped();
    Setting setting = asked;
    one.change(setting);
    if (!fits(asked, setting, evidence)) continue;
    const Alternative* const found[] = {&one};
    convention = described(found, evidence);
    return {};
  }
  for (const Alternative& one : alternatives()) {
    if (!one.applies(asked)) continue;
    Setting first = asked;
    one.change(first);
    for (const Alternative& two : alternatives()) {
      if (&two <= &one || same_subject(one, two) || !two.applies(first)) continue;
      if (!go_on()) return stopped();
      Setting setting = first;
      two.change(setting);
      if (!fits(asked, setting, evidence)) continue;
      const Alternative* const found[] = {&one, &two};
      convention = described(found, evidence);
      return {};
    }
  }
  return {};
}

}  // namespace regard::judging
