// The row space of a task: which query head and row each of its rows is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/direct.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

/// Where row `row` of the task's row space lives.
struct RowPlace {
  std::int64_t head;  ///< query head within the group
  std::int64_t item;  ///< index in the task's row list
  std::int64_t i;     ///< query row
};

inline RowPlace row_place(const contract::DirectTask& task, std::int64_t row) {
  // Without grouped heads there is nothing to divide, which costs as much as 20 multiply-adds.
  if (task.group == 1) return {0, row, task.rows ? task.rows[row] : row};
  const std::int64_t item = row / task.group;
  return {row % task.group, item, task.rows ? task.rows[item] : item};
}

/// Address of element (head, row, column).
inline const std::byte* element_at(const contract::Source& source, std::int64_t head,
                                   std::int64_t row, std::int64_t column) {
  const std::int64_t at = head * source.head + row * source.row + column * source.column;
  return static_cast<const std::byte*>(source.data) + at * source.element_bytes;
}
inline std::byte* element_at(const contract::Target& target, std::int64_t head, std::int64_t row,
                             std::int64_t column) {
  const std::int64_t at = head * target.head + row * target.row + column * target.column;
  return static_cast<std::byte*>(target.data) + at * target.element_bytes;
}

/// Element (head, row, 0) of memory of type T.
template <class T>
T& number_at(const contract::Target& target, std::int64_t head, std::int64_t row) {
  return static_cast<T*>(target.data)[head * target.head + row * target.row];
}

/// The number of a head, as T.
template <class T>
T head_element(const contract::Source& source, std::int64_t head) {
  T value = 0;
  read_elements<T>(source.type, element_at(source, head, 0, 0), 1, 1, &value);
  return value;
}

}  // namespace regard::REGARD_ISA
