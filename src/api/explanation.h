// What an explanation says of decode, whoever asked for it.
#pragma once

#include "plan/decode_plan.h"
#include "regard/attention.h"

namespace regard {

/// Sets how `decode` cuts the work; its items come on top of those that are there.
inline void add_decode(const plan::DecodePlan& plan, Explanation& explanation) {
  explanation.threads = plan.workers > explanation.threads ? plan.workers : explanation.threads;
  if (explanation.path == Path::decode) explanation.unit = plan.kernel->unit;
  explanation.rows_per_tile = plan.kernel->rows_per_pass;
  explanation.keys_per_tile = plan.kernel->keys_per_block;
  explanation.keys_per_block = plan.kernel->keys_per_block;
  explanation.rows_per_item = plan.rows_per_item;
  explanation.main_items += plan.shared.items() + plan.own.items();
}

}  // namespace regard
