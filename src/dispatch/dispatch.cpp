#include "dispatch/dispatch.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <array>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "base/status_text.h"

namespace regard {

// REGARD_ISAS is the build's ordered list: REGARD_ENTRY(generic) REGARD_ENTRY(avx2) ...
#define REGARD_ENTRY(isa)                    \
  namespace isa {                            \
  extern const contract::KernelTable kTable; \
  }
REGARD_ISAS
#undef REGARD_ENTRY

namespace dispatch {
namespace {

[[maybe_unused]] bool has_generic() noexcept {
  return true;
}

#if defined(__x86_64__)
// __builtin_cpu_supports also asks whether the system saves the wide registers. Every CPU with AVX2
// has F16C, whose name not all compilers know here.
[[maybe_unused]] bool has_avx2() noexcept {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2");
}
[[maybe_unused]] bool has_avx512() noexcept {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
[[maybe_unused]] bool has_avx512_bf16() noexcept {
  return has_avx512() && __builtin_cpu_supports("avx512bf16") &&
         __builtin_cpu_supports("avx512vbmi");
}
/// The kernel gives a process the tile registers when it asks.
[[maybe_unused]] bool has_amx() noexcept {
  constexpr unsigned kTile = 1u << 24, kBf16 = 1u << 22;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!has_avx512_bf16()) return false;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  if ((d & kTile) == 0 || (d & kBf16) == 0) return false;
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#elif defined(__aarch64__)
/// Part of the architecture.
[[maybe_unused]] bool has_neon() noexcept {
  return true;
}
#endif

constexpr Isa kOwn[] = {
#define REGARD_ENTRY(isa) {#isa, &isa::kTable, has_##isa},
    REGARD_ISAS
#undef REGARD_ENTRY
};

template <class Kernel>
void inherit(const Kernel*& own, const Kernel* before) {
  if (!own) own = before;
}

struct Isas {
  std::array<contract::KernelTable, std::size(kOwn)> tables;
  std::array<Isa, std::size(kOwn)> list;

  Isas() {
    contract::KernelTable before;
    for (std::size_t i = 0; i < list.size(); ++i) {
      contract::KernelTable& table = tables[i] = *kOwn[i].table;
      inherit(table.direct_f32, before.direct_f32);
      inherit(table.direct_f64, before.direct_f64);
      inherit(table.tiles_bf16, before.tiles_bf16);
      inherit(table.peak_f32, before.peak_f32);
      inherit(table.peak_f64, before.peak_f64);
      inherit(table.decode_f32, before.decode_f32);
      inherit(table.decode_bf16, before.decode_bf16);
      inherit(table.decode_f64, before.decode_f64);
      inherit(table.decode_requests, before.decode_requests);
      inherit(table.peak_bf16, before.peak_bf16);
      inherit(table.peak_dot, before.peak_dot);
      inherit(table.read, before.read);
      before = table;
      list[i] = {kOwn[i].name, &table, kOwn[i].runs_here};
    }
  }
};

std::string names() {
  std::string result;
  for (const Isa& isa : kOwn) result += (result.empty() ? "" : ", ") + std::string(isa.name);
  return result;
}

Choice choose() {
  if (const char* wanted = std::getenv("REGARD_ISA"); wanted && *wanted) {
    for (const Isa& isa : isas()) {
      if (std::string_view(isa.name) != wanted) continue;
      if (isa.runs_here()) return {{}, &isa, "REGARD_ISA asks for it"};
      return {base::invalid("REGARD_ISA: this CPU cannot run '" + std::string(wanted) + "'"),
              nullptr, ""};
    }
    return {base::invalid("REGARD_ISA: '" + std::string(wanted) + "' is not one of " + names()),
            nullptr, ""};
  }
  const Isa* best = nullptr;
  for (const Isa& isa : isas()) {
    if (isa.runs_here()) best = &isa;
  }
  if (!best) return {base::unsupported("isa: this CPU runs none of " + names()), nullptr, ""};
  return {{}, best, "the best of " + names() + " that this CPU runs"};
}

}  // namespace

std::span<const Isa> isas() noexcept {
  static const Isas all;
  return all.list;
}

const Choice& chosen() {
  static const Choice choice = choose();
  return choice;
}

}  // namespace dispatch
}  // namespace regard
