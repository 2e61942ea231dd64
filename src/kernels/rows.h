// The row space of a task: which query head and row each of its rows is.
#pragma once

#include <cstdint>

#include "contract/direct.h"

namespace regard::REGARD_ISA {

/// Where row `row` of the task's row space lives.
struct RowPlace {
  std::int64_t head;  ///< query head within the group
  std::int64_t item;  ///< index in the task's row list
  std::int64_t i;     ///< query row
};

inline RowPlace row_place(const contract::DirectTask& task, std::int64_t row) {
  const std::int64_t item = row / task.group;
  return {row % task.group, item, task.rows ? task.rows[item] : item};
}

}  // namespace regard::REGARD_ISA
