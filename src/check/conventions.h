// The conventions other kernels are known to follow, as a table.
#pragma once

#include <span>

#include "check/judge.h"

namespace regard::judging {

/// One way in which a kernel may answer another question than the one asked.
struct Alternative {
  const char* name;    ///< "causal=top_left"; what stands before "=" is what it changes
  const char* phrase;  ///< what follows "this kernel"
  bool (*applies)(const Setting& setting);
  void (*change)(Setting& setting);
};

/// In the order of trial: of two that fit alike the first is named.
std::span<const Alternative> alternatives() noexcept;

/// Both change the same thing, so that only one of them can hold.
bool same_subject(const Alternative& x, const Alternative& y) noexcept;

}  // namespace regard::judging
