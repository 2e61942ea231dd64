#include "regard/machine.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "base/guard.h"
#include "base/status_text.h"
#include "dispatch/dispatch.h"
#include "run/context_state.h"

namespace regard {
namespace {

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

double seconds(const contract::PeakLoop& loop, std::int64_t iterations) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  loop.run(iterations);
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Null where the ISA has no such unit.
const contract::PeakLoop* peak_loop(const contract::KernelTable& table, std::string_view unit,
                                    DType dtype) {
  if (unit == table.direct_f32->unit && is_float(dtype)) {
    return compute_type(dtype) == DType::f64 ? table.peak_f64 : table.peak_f32;
  }
  if (dtype != DType::bf16) return nullptr;
  if (table.decode_bf16 && unit == table.decode_bf16->unit) return table.peak_dot;
  const contract::DirectKernel& tiles = *table.tiles_bf16;
  return unit == tiles.unit && !tiles.emulated ? table.peak_bf16 : nullptr;
}

double best_rate(const contract::PeakLoop& loop, int repeats) {
  constexpr double kRunSeconds = 2e-3;
  std::int64_t iterations = 1024;
  while (seconds(loop, iterations) < kRunSeconds) iterations *= 2;
  double best = 0;
  for (int repeat = 0; repeat < std::max(repeats, 1); ++repeat) {
    const double rate = double(iterations * loop.flops_per_iteration) / seconds(loop, iterations);
    best = std::max(best, rate);
  }
  return best;
}

}  // namespace

Status describe_machine(MachineInfo& info) noexcept {
  return base::guarded([&]() -> Status {
    const dispatch::Choice& choice = dispatch::chosen();
    if (!choice.status.ok()) return choice.status;
    MachineInfo result;
    result.cpu = cpu_name();
    for (const dispatch::Isa& isa : dispatch::isas()) {
      result.isas.push_back({isa.name, isa.runs_here()});
    }
    result.isa = choice.isa->name;
    result.isa_reason = choice.reason;
    const run::DefaultThreads threads = run::default_threads();
    result.threads = threads.count;
    result.threads_reason = threads.reason;
    result.threads_by = run::Threads::kName;
    for (const int level : {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE}) {
      result.cache_bytes.push_back(std::max<long>(sysconf(level), 0));
    }
    info = std::move(result);
    return {};
  });
}

Status measure_peak(std::string_view unit, DType dtype, int repeats, double& flops) noexcept {
  return base::guarded([&]() -> Status {
    const dispatch::Choice& choice = dispatch::chosen();
    if (!choice.status.ok()) return choice.status;
    const contract::PeakLoop* loop = peak_loop(*choice.isa->table, unit, dtype);
    if (!loop) {
      return base::unsupported("unit: " + std::string(choice.isa->name) + " has no peak of '" +
                               std::string(unit) + "' for " + dtype_name(dtype));
    }
    flops = best_rate(*loop, repeats);
    return {};
  });
}

Status measure_peak(DType dtype, int repeats, double& flops) noexcept {
  return base::guarded([&]() -> Status {
    const dispatch::Choice& choice = dispatch::chosen();
    if (!choice.status.ok()) return choice.status;
    if (dtype == DType::f32 || dtype == DType::f64) {
      return measure_peak(choice.isa->table->direct_f32->unit, dtype, repeats, flops);
    }
    return base::unsupported(std::string("dtype: there is no multiply-add peak for ") +
                             dtype_name(dtype));
  });
}

}  // namespace regard
