// What a context takes from its surroundings: OMP_NUM_THREADS, else the CPUs it may run on.
#include <sched.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "run/child.h"
#include "run/job.h"

namespace regard::test {
namespace {

/// Sets OMP_NUM_THREADS for one scope; null unsets it.
class OmpThreads {
 public:
  explicit OmpThreads(const char* value) {
    if (const char* before = std::getenv(kName)) before_ = before;
    set(value);
  }
  ~OmpThreads() { set(before_ ? before_->c_str() : nullptr); }
  OmpThreads(const OmpThreads&) = delete;
  OmpThreads& operator=(const OmpThreads&) = delete;

 private:
  static constexpr const char* kName = "OMP_NUM_THREADS";
  static void set(const char* value) { value ? setenv(kName, value, 1) : unsetenv(kName); }
  std::optional<std::string> before_;
};

int default_threads(const char* omp) {
  const OmpThreads scope(omp);
  return Context().threads();
}

int allowed_cpus() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  return sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
}

TEST(OmpNumThreads, IsHonoured) {
  EXPECT_EQ(default_threads("1"), 1);
  EXPECT_EQ(default_threads("3"), 3);
  EXPECT_EQ(default_threads("37"), 37);
  EXPECT_EQ(default_threads(" 4 "), 4);
}

TEST(OmpNumThreads, MayBeAListOfWhichTheFirstCounts) {
  EXPECT_EQ(default_threads("5,3"), 5);
}

TEST(OmpNumThreads, DoesNotOverruleTheCaller) {
  const OmpThreads scope("3");
  EXPECT_EQ(Context(2).threads(), 2);
  EXPECT_EQ(Context(Executor{nullptr, nullptr, 4}).threads(), 4);
}

TEST(OmpNumThreads, ThatIsNoNumberIsIgnored) {
  for (const char* text : {"", "0", "-2", "many"}) EXPECT_EQ(default_threads(text), allowed_cpus());
}

TEST(OmpNumThreads, OfAbsurdSizeIsCut) {
  EXPECT_LE(default_threads("99999999999999999999"), 1024);
  EXPECT_GE(default_threads("99999999999999999999"), 1);
}

TEST(Affinity, DecidesWithoutOmpNumThreads) {
  EXPECT_EQ(default_threads(nullptr), allowed_cpus());
  const int on_one_cpu = in_child([] {
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return 100;
    int cpu = 0;
    while (!CPU_ISSET(cpu, &cpus)) ++cpu;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) return 101;
    return default_threads(nullptr);
  });
  EXPECT_EQ(on_one_cpu, 1);
}

}  // namespace
}  // namespace regard::test
