// REGARD_ISA. The choice is made once a process, so each case runs in a process of its own: a
// death test of the style that starts the program anew.
#include <gtest/gtest.h>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "dispatch/dispatch.h"
#include "regard/attention.h"
#include "regard/machine.h"

namespace regard::test {
namespace {

class IsaDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

/// Ends this process with code 0 if every entry point refuses with one and the same sentence,
/// which it prints, and leaves the results alone.
[[noreturn]] void refuse_as(const char* isa) {
  setenv("REGARD_ISA", isa, 1);
  const float one = 1;
  float out = -7;
  const ConstTensor in = view(&one, {1, 1, 1, 1});
  const Outputs outputs{view(&out, {1, 1, 1, 1}), {}, {}};
  MachineInfo info;
  Explanation explanation;
  double flops = -7;
  const Context context(1);
  const Status statuses[] = {describe_machine(info), measure_peak(DType::f32, 1, flops),
                             forward(context, in, in, in, outputs),
                             explain(context, in, in, in, outputs, {}, explanation)};
  bool alike = out == -7 && flops == -7 && info.isa.empty() && explanation.isa.empty();
  for (const Status& status : statuses) {
    alike = alike && status.code() == StatusCode::invalid_argument &&
            status.message() == statuses[0].message();
  }
  std::fprintf(stderr, "[%s]", statuses[0].message().c_str());
  std::_Exit(alike ? 0 : 1);
}

/// Prints the ISA in use and the reason, and ends this process.
[[noreturn]] void use(const char* isa) {
  isa ? setenv("REGARD_ISA", isa, 1) : unsetenv("REGARD_ISA");
  MachineInfo info;
  const Status status = describe_machine(info);
  std::fprintf(stderr, "[%s: %s]", info.isa.c_str(), info.isa_reason.c_str());
  std::_Exit(status.ok() ? 0 : 1);
}

/// Does not ask for the leave to use tiles, which a process keeps.
bool cpu_has_tiles() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string word; file >> word;) {
    if (word == "amx_bf16") return true;
  }
  return false;
}

/// Gives this thread a signal stack that has no room for tiles: Linux then refuses them.
void keep_tiles_back() {
  static std::byte memory[2560];
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = sizeof(memory);
  if (sigaltstack(&stack, nullptr) != 0) std::_Exit(2);
}

std::string best_isa() {
  std::string best;
  for (const dispatch::Isa& isa : dispatch::isas())
    if (isa.runs_here()) best = isa.name;
  return best;
}

TEST_F(IsaDeathTest, AnUnknownNameIsRefusedWithTheKnownOnes) {
  EXPECT_EXIT(refuse_as("avx1024"), testing::ExitedWithCode(0),
              "\\[REGARD_ISA: 'avx1024' is not one of generic[^\n]*\\]");
  EXPECT_EXIT(refuse_as("AVX2"), testing::ExitedWithCode(0), "\\[REGARD_ISA: 'AVX2' [^\n]*\\]");
}

TEST_F(IsaDeathTest, OneThatThisCpuLacksIsRefused) {
  for (const dispatch::Isa& isa : dispatch::isas()) {
    if (isa.runs_here()) continue;
    EXPECT_EXIT(refuse_as(isa.name), testing::ExitedWithCode(0),
                "\\[REGARD_ISA: [^\n]*'" + std::string(isa.name) + "'\\]");
    return;
  }
  GTEST_SKIP() << "this CPU lacks none of the compiled ISAs";
}

TEST_F(IsaDeathTest, EveryOneThatRunsHereCanBeAskedFor) {
  for (const dispatch::Isa& isa : dispatch::isas()) {
    if (!isa.runs_here()) continue;
    EXPECT_EXIT(use(isa.name), testing::ExitedWithCode(0),
                "\\[" + std::string(isa.name) + ": REGARD_ISA[^\n]*\\]");
  }
}

TEST_F(IsaDeathTest, TheOneBeforeServesWhereTheSystemKeepsTilesBack) {
  const dispatch::Isa& last = dispatch::isas().back();
  if (last.name != std::string("amx") || !cpu_has_tiles()) GTEST_SKIP() << "no tiles here";
  const std::string before = dispatch::isas()[dispatch::isas().size() - 2].name;
  EXPECT_EXIT((keep_tiles_back(), use(nullptr)), testing::ExitedWithCode(0),
              "\\[" + before + ": the best");
  EXPECT_EXIT((keep_tiles_back(), refuse_as("amx")), testing::ExitedWithCode(0),
              "\\[REGARD_ISA: [^\n]*'amx'\\]");
}

TEST_F(IsaDeathTest, UnsetOrEmptyTakesTheBest) {
  EXPECT_EXIT(use(nullptr), testing::ExitedWithCode(0), "\\[" + best_isa() + ": the best");
  EXPECT_EXIT(use(""), testing::ExitedWithCode(0), "\\[" + best_isa() + ": the best");
}

}  // namespace
}  // namespace regard::test
