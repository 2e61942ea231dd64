#include "dispatch/dispatch.h"

#include <cstdlib>
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
#endif

constexpr Isa kIsas[] = {
#define REGARD_ENTRY(isa) {#isa, &isa::kTable, has_##isa},
    REGARD_ISAS
#undef REGARD_ENTRY
};

std::string names() {
  std::string result;
  for (const Isa& isa : kIsas) result += (result.empty() ? "" : ", ") + std::string(isa.name);
  return result;
}

Choice choose() {
  if (const char* wanted = std::getenv("REGARD_ISA"); wanted && *wanted) {
    for (const Isa& isa : kIsas) {
      if (std::string_view(isa.name) != wanted) continue;
      if (isa.runs_here()) return {{}, &isa, "REGARD_ISA asks for it"};
      return {base::invalid("REGARD_ISA: this CPU cannot run '" + std::string(wanted) + "'"),
              nullptr, ""};
    }
    return {base::invalid("REGARD_ISA: '" + std::string(wanted) + "' is not one of " + names()),
            nullptr, ""};
  }
  const Isa* best = nullptr;
  for (const Isa& isa : kIsas) {
    if (isa.runs_here()) best = &isa;
  }
  if (!best) return {base::unsupported("isa: this CPU runs none of " + names()), nullptr, ""};
  return {{}, best, "the best of " + names() + " that this CPU runs"};
}

}  // namespace

std::span<const Isa> isas() noexcept {
  return kIsas;
}

const Choice& chosen() {
  static const Choice choice = choose();
  return choice;
}

}  // namespace dispatch
}  // namespace regard
