// What this machine is to the library: instruction sets, caches, and what speeds are compared
// with: the multiply-add peak and the plain read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "regard/export.h"
#include "regard/kv_cache.h"
#include "regard/status.h"
#include "regard/tensor.h"

namespace regard {

struct IsaInfo {
  std::string name;
  bool runs_here = false;
};

struct MachineInfo {
  std::string cpu;            ///< the model's name as the system gives it
  std::vector<IsaInfo> isas;  ///< compiled in, least demanding first
  std::string isa;            ///< the one in use
  std::string isa_reason;
  int threads = 1;                        ///< what Context(0) takes
  std::string threads_reason;             ///< what decides that, as "OMP_NUM_THREADS"
  std::string threads_by;                 ///< what starts them: "pthreadpool" or "std::thread"
  std::vector<std::int64_t> cache_bytes;  ///< L1 data, L2, L3; 0 where unknown
};

/// Errors: invalid_argument when REGARD_ISA names something that cannot run here; unsupported when
/// no compiled ISA runs on this CPU.
REGARD_API Status describe_machine(MachineInfo& info) noexcept;

/// Peak of one core's `unit` for calls with elements of `dtype`, in floating-point operations per
/// second (a multiply-add counts two): the best of `repeats` runs of a register-only loop of about
/// 2 ms. "fma" is the vectors' multiply-add in the type that such calls compute in; "dot" and
/// "tile" are what the ISA in use has for bf16. Explanation::unit names that of a call. Errors:
/// those of describe_machine; unsupported where the ISA in use has no such unit.
REGARD_API Status measure_peak(std::string_view unit, DType dtype, int repeats,
                               double& flops) noexcept;

/// Multiply-add peak of one core with the ISA in use, that of "fma" above, for a type that
/// is computed in. Errors: those of describe_machine; unsupported for half types.
REGARD_API Status measure_peak(DType dtype, int repeats, double& flops) noexcept;

/// What one thread reads of a cached sequence: part `part` of `parts`, each of as many KV heads of
/// pages as the others, or one more.
struct CacheRead {
  std::int64_t sequence = 0;
  int part = 0, parts = 1;
};

/// Seconds in which the calling thread reads K, V and scales of its part once, as they are stored,
/// with the widest loads of the ISA in use and nothing else: what `decode` of the sequence is set
/// against. Errors: those of describe_machine; invalid_argument.
REGARD_API Status measure_read(const KvCache& cache, const CacheRead& what,
                               double& seconds) noexcept;

}  // namespace regard
