// Everything one ISA offers, as plain function pointers and numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/decode.h"
#include "contract/direct.h"

namespace regard::contract {

/// A loop of independent multiply-adds, or a unit's products, that touches registers only.
struct PeakLoop {
  void (*run)(std::int64_t iterations) noexcept = nullptr;
  std::int64_t flops_per_iteration = 0;
};

/// Reads every byte once, with the ISA's widest loads, and does nothing else.
struct ReadLoop {
  void (*run)(const std::byte* begin, std::int64_t bytes) noexcept = nullptr;
};

/// An ISA holds what it adds; null: the one before it in the list serves.
struct KernelTable {
  const DirectKernel* direct_f32 = nullptr;
  const DirectKernel* direct_f64 = nullptr;
  const DirectKernel* tiles_bf16 = nullptr;
  const DecodeKernel* decode_f32 = nullptr;
  const DecodeKernel* decode_bf16 = nullptr;  ///< q, k and v of bf16; may stay null
  const DecodeKernel* decode_f64 = nullptr;
  const DecodeRequests* decode_requests = nullptr;  ///< null: as DecodeRequests are without more
  const PeakLoop* peak_f32 = nullptr;
  const PeakLoop* peak_f64 = nullptr;
  const PeakLoop* peak_bf16 = nullptr;  ///< of the unit of tiles_bf16
  const PeakLoop* peak_dot = nullptr;   ///< of the unit of decode_bf16
  const ReadLoop* read = nullptr;
};

}  // namespace regard::contract
