// The main of every test program. When REGARD_ISA asks for an instruction set that this CPU lacks,
// nothing is run and the exit code is 77, which CTest counts as skipped.
#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace {

constexpr int kSkipped = 77;

enum class Isa { present, lacking, unknown };

/// The system names this feature of the CPU: compilers do not know all of them.
[[maybe_unused]] bool has_flag(std::string_view name) {
  std::ifstream file("/proc/cpuinfo");
  std::string word;
  while (file >> word) {
    if (word == name) return true;
  }
  return false;
}

#if defined(__x86_64__)
/// The system may keep them from a process: ARCH_REQ_XCOMP_PERM for XFEATURE_XTILEDATA.
bool may_use_tiles() {
  return syscall(SYS_arch_prctl, 0x1023, 18) == 0;
}
#endif

Isa find_isa(std::string_view name) {
  [[maybe_unused]] const auto present_if = [](bool has) {
    return has ? Isa::present : Isa::lacking;
  };
  if (name == "generic") return Isa::present;
#if defined(__aarch64__)
  if (name == "neon") return Isa::present;
#else
  if (name == "neon") return Isa::lacking;
#endif
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi2");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512cd");
  if (name == "avx2") return present_if(avx2);
  if (name == "avx512") return present_if(avx2 && avx512);
  const bool bf16 = avx2 && avx512 && has_flag("avx512_bf16") && has_flag("avx512vbmi");
  if (name == "avx512_bf16") return present_if(bf16);
  if (name == "amx") return present_if(bf16 && has_flag("amx_bf16") && may_use_tiles());
#else
  if (name.starts_with("av") || name == "amx") return Isa::lacking;
#endif
  return Isa::unknown;
}

/// Path tiles takes bf16 alone: on it tests of other types would be those of path direct again.
void leave_out_other_types() {
  std::string others;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int n = 0; n < all.total_test_suite_count(); ++n) {
    const testing::TestSuite& suite = *all.GetTestSuite(n);
    const char* type = suite.type_param();
    if (!type || std::string_view(type).find("BF16") != std::string_view::npos) continue;
    others += std::string(":") + suite.name() + ".*";
  }
  std::string& filter = testing::GTEST_FLAG(filter);
  if (filter.find('-') == std::string::npos) filter += "-";
  filter += others;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (const char* asked = std::getenv("REGARD_ISA"); asked != nullptr && *asked != '\0') {
    switch (find_isa(asked)) {
      case Isa::unknown:
        std::printf("REGARD_ISA is %s, which names no instruction set\n", asked);
        return EXIT_FAILURE;
      case Isa::lacking:
        std::printf("skipped: this CPU lacks %s\n", asked);
        return kSkipped;
      case Isa::present:
        std::printf("asked to run on %s\n", asked);
    }
  }
  const char* path = std::getenv("REGARD_TEST_PATH");
  if (path && std::string_view(path) == "tiles") leave_out_other_types();
  return RUN_ALL_TESTS();
}
