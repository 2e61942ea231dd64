// regard info: what the library found on this machine.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "command.h"
#include "flags.h"
#include "regard/machine.h"
#include "regard/version.h"
#include "text.h"

namespace regard::cli {
namespace {

constexpr char kUsage[] = "info";
constexpr char kMore[] =
    "REGARD_ISA=generic (or avx2, avx512) in the environment pins an instruction set;\n"
    "OMP_NUM_THREADS sets how many threads are used.\n";

std::string cache_text(const std::vector<std::int64_t>& bytes) {
  std::vector<std::string> levels;
  for (std::size_t level = 0; level < bytes.size(); ++level) {
    if (bytes[level] > 0)
      levels.push_back(fmt::format("L{} {}", level + 1, bytes_text(bytes[level])));
  }
  return levels.empty() ? "unknown" : fmt::format("{}", fmt::join(levels, ", "));
}

int run() {
  MachineInfo info;
  require(describe_machine(info));
  std::vector<std::string> isas;
  for (const IsaInfo& isa : info.isas) {
    isas.push_back(isa.name + (isa.runs_here ? "" : " (not on this CPU)"));
  }
  fmt::print("version   {}\n", kVersion);
  fmt::print("cpu       {}\n", info.cpu);
  fmt::print("isa       {}, {}\n", info.isa, info.isa_reason);
  fmt::print("compiled  {}\n", fmt::join(isas, ", "));
  fmt::print("threads   {}, from {}; started by {}\n", info.threads, info.threads_reason,
             info.threads_by);
  fmt::print("caches    {}\n", cache_text(info.cache_bytes));
  return kFine;
}

}  // namespace

Command add_info(CLI::App& program) {
  CLI::App* app = add_command(program, "info", "this CPU, and what the library uses of it");
  return {app, [] { return Page{kUsage, kMore}; }, run};
}

}  // namespace regard::cli
