// The caller's floating-point mode: neither changed by a call nor able to change its results.
#include <gtest/gtest.h>

#include <cfenv>
#include <limits>

#include "regard/attention.h"
#include "support/inputs.h"

#if defined(__x86_64__)
#include <pmmintrin.h>
#include <xmmintrin.h>
#endif

namespace regard::test {
namespace {

template <class T>
struct Result {
  TestTensor<T> out, lse, weights;

  bool same_bits(const Result& other) const {
    return out.same_bits(other.out) && lse.same_bits(other.lse) && weights.same_bits(other.weights);
  }
};

/// Head size 7, so that 1/sqrt(D) is rounded. Some keys are denormal numbers that large queries
/// lift into plain sight, some values are denormal. Work enough for two threads.
template <class T>
class Modes : public testing::Test {
 protected:
  static constexpr ProblemShape kShape{1, 2, 2, 260, 240, 7, 5};

  Modes() {
    const T lift = std::numeric_limits<T>::max() / 64;
    for (std::int64_t d = 0; d < 7; ++d) {
      for (std::int64_t i = 0; i < kShape.sq; i += 2) in.q.at(0, 1, i, d) *= lift / 8;
      for (std::int64_t j = 0; j < kShape.skv; ++j)
        in.k.at(0, 0, j, d) /= j % 2 == 0 ? lift : lift * 8;
      if (d < 5) in.v.at(0, 0, 3 * d, d) = std::numeric_limits<T>::denorm_min() * 100;
    }
  }

  Result<T> run(const Context& context) const {
    Result<T> r{TestTensor<T>(kShape.out()), TestTensor<T>(kShape.lse()),
                TestTensor<T>(kShape.weights())};
    status = forward(context, in.q.view(), in.k.view(), in.v.view(),
                     {r.out.tensor(), r.lse.tensor(), r.weights.tensor()});
    return r;
  }

  Inputs<T> in = random_inputs<T>(kShape, 5);
  Context one{1}, two{2};
  mutable Status status;
};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Modes, Types);

TYPED_TEST(Modes, OfRoundingChangeNothing) {
  for (const Context* context : {&this->one, &this->two}) {
    const auto expected = this->run(*context);
    ASSERT_TRUE(this->status.ok()) << this->status.message();
    for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
      std::fesetround(mode);
      const auto result = this->run(*context);
      const int after = std::fegetround();
      std::fesetround(FE_TONEAREST);
      EXPECT_EQ(after, mode);
      EXPECT_TRUE(result.same_bits(expected)) << "rounding mode " << mode;
    }
  }
}

#if defined(__x86_64__)

constexpr unsigned kFlags = _MM_EXCEPT_MASK;
constexpr unsigned kDefault = _MM_MASK_MASK;

/// Runs a call under `mode`; returns the register as the call left it.
template <class Call>
unsigned under(unsigned mode, const Call& call) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(mode);
  call();
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  return after;
}

const unsigned kModes[] = {
    kDefault,
    kDefault | _MM_FLUSH_ZERO_ON,
    kDefault | _MM_DENORMALS_ZERO_ON,
    kDefault | _MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON,
    kDefault | _MM_FLUSH_ZERO_ON | _MM_ROUND_DOWN,
    // Traps for what rows of infinities and empty rows do inside a kernel.
    kDefault & ~unsigned(_MM_MASK_DIV_ZERO | _MM_MASK_INVALID | _MM_MASK_OVERFLOW),
};

TYPED_TEST(Modes, OfDenormalsAndTrapsChangeNothing) {
  for (const Context* context : {&this->one, &this->two}) {
    const auto expected = this->run(*context);
    ASSERT_TRUE(this->status.ok()) << this->status.message();
    for (const unsigned mode : kModes) {
      const unsigned after = under(mode, [&] {
        EXPECT_TRUE(this->run(*context).same_bits(expected)) << std::hex << "MXCSR " << mode;
      });
      EXPECT_EQ(after & ~kFlags, mode) << "control bits";
    }
  }
}

/// An executor whose threads live under a mode of their own.
struct OddThreads {
  unsigned mode = kDefault;
  unsigned after = 0;

  static void run(void* user, int workers, Executor::Task task, void* state) {
    auto& self = *static_cast<OddThreads*>(user);
    self.after = under(self.mode, [&] {
      for (int worker = 0; worker < workers; ++worker) task(state, worker);
    });
  }
};

TYPED_TEST(Modes, OfTheCallersOwnThreadsChangeNothing) {
  const auto expected = this->run(this->one);
  for (const unsigned mode : kModes) {
    OddThreads threads{.mode = mode};
    EXPECT_TRUE(this->run(Context(Executor{OddThreads::run, &threads, 2})).same_bits(expected))
        << std::hex << "MXCSR " << mode;
    EXPECT_EQ(threads.after, mode);
  }
}

TYPED_TEST(Modes, AndExceptionFlagsAreAsTheyWere) {
  for (const unsigned mode : kModes) {
    EXPECT_EQ(under(mode, [&] { (void)this->run(this->one); }), mode);
    EXPECT_EQ(under(mode | _MM_EXCEPT_UNDERFLOW, [&] { (void)this->run(this->one); }),
              mode | _MM_EXCEPT_UNDERFLOW);
  }
}

#endif

}  // namespace
}  // namespace regard::test
