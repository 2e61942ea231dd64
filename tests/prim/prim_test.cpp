// The stated accuracy and special values of the operations that kernels use.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "dispatch/dispatch.h"
#include "prim/probe.h"

namespace regard::test {
namespace {

template <class T>
const Probe<T>& probe() {
  if constexpr (sizeof(T) == 4) {
    return probes().f32;
  } else {
    return probes().f64;
  }
}

/// An aligned array of a multiple of 16 elements, the rest filled with the last value.
template <class T>
class Values {
 public:
  explicit Values(const std::vector<T>& values)
      : count_((std::int64_t(values.size()) + 15) / 16 * 16),
        buffer_(count_ * std::int64_t{sizeof(T)}) {
    for (std::int64_t n = 0; n < count_; ++n) {
      data()[n] = values[std::min(std::size_t(n), values.size() - 1)];
    }
  }
  T* data() { return reinterpret_cast<T*>(buffer_.data()); }
  std::int64_t count() const { return count_; }

 private:
  std::int64_t count_;
  base::AlignedBuffer buffer_;
};

template <class T>
std::vector<T> applied(void (*operation)(const T*, T*, std::int64_t), const std::vector<T>& x) {
  Values<T> in(x), out(x);
  operation(in.data(), out.data(), in.count());
  return {out.data(), out.data() + x.size()};
}

template <class T>
class PrimOf : public testing::Test {
 protected:
  static constexpr T kInf = std::numeric_limits<T>::infinity();
  static constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();
  static constexpr T kSmallest = std::numeric_limits<T>::min();
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(PrimOf, Types);

TYPED_TEST(PrimOf, Exp2IsWithinItsStatedUlps) {
  using T = TypeParam;
  constexpr bool single = sizeof(T) == 4;
  std::mt19937_64 engine(1);
  std::uniform_real_distribution<double> wide(single ? -126 : -1022, single ? 127 : 1023);
  std::uniform_real_distribution<double> close(-2, 2);
  std::vector<T> x;
  for (int n = 0; n < 200000; ++n) x.push_back(T(n % 2 ? wide(engine) : close(engine)));
  const std::vector<T> y = applied(probe<T>().exp2, x);
  double worst = 0;
  for (std::size_t n = 0; n < x.size(); ++n) {
    const long double exact = std::exp2(static_cast<long double>(x[n]));
    const T rounded = T(exact);
    const long double ulp = std::nextafter(rounded, this->kInf) - rounded;
    worst = std::max(worst, double(std::abs(static_cast<long double>(y[n]) - exact) / ulp));
  }
  this->RecordProperty("worst_ulps", std::to_string(worst));
  EXPECT_LE(worst, 1.3);
}

TYPED_TEST(PrimOf, Exp2AtTheEdges) {
  using T = TypeParam;
  constexpr T lowest = sizeof(T) == 4 ? -126 : -1022;
  const std::vector<T> x = {0, -0.0f, 1, -1, 10, lowest, T(lowest - 1), -3000, -1e30f, 3000};
  const std::vector<T> want = {1, 1, 2, T(0.5), 1024, this->kSmallest, 0, 0, 0, this->kInf};
  const std::vector<T> y = applied(probe<T>().exp2, x);
  for (std::size_t n = 0; n < x.size(); ++n) EXPECT_EQ(y[n], want[n]) << x[n];
  for (const T bad : applied(probe<T>().exp2, {this->kInf, -this->kInf, this->kNaN})) {
    EXPECT_FALSE(std::isfinite(bad));
  }
}

TYPED_TEST(PrimOf, RoundsTiesToEven) {
  using T = TypeParam;
  const std::vector<T> x = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 0.49f, 7, -1000.75f, this->kInf};
  const std::vector<T> y = applied(probe<T>().round, x);
  for (std::size_t n = 0; n < x.size(); ++n) EXPECT_EQ(y[n], std::nearbyint(x[n])) << x[n];
}

TYPED_TEST(PrimOf, TimesPowerOfTwo) {
  using T = TypeParam;
  constexpr T top = sizeof(T) == 4 ? 127 : 1023;
  const std::vector<T> a = {1, 1.5f, -3, 1, 1.25f, 1, this->kNaN, this->kNaN, 1, 1};
  const std::vector<T> n = {0, 10, -3, top, T(1 - top), T(-top - 5), -5, -1e9f, 1e9f, T(top + 1)};
  Values<T> av(a), nv(n), y(a);
  probe<T>().times_power_of_two(av.data(), nv.data(), y.data(), av.count());
  for (std::size_t at = 0; at < a.size(); ++at) {
    T want = std::ldexp(a[at], int(std::clamp<T>(n[at], -5000, 5000)));
    if (std::abs(want) < this->kSmallest) want = 0;
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(y.data()[at])) << n[at];
    } else {
      EXPECT_EQ(y.data()[at], want) << a[at] << ' ' << n[at];
    }
  }
}

TYPED_TEST(PrimOf, FmaRoundsOnceOnEveryIsaButGeneric) {
  using T = TypeParam;
  const T x = 1 + std::numeric_limits<T>::epsilon();
  Values<T> a({x}), b({x}), c({-(x * x)}), y({0});
  probe<T>().fma(a.data(), b.data(), c.data(), y.data(), a.count());
  const bool generic = std::string(dispatch::chosen().isa->name) == "generic";
  EXPECT_EQ(*y.data(), generic ? T(0) : std::fma(x, x, -(x * x)));
}

TYPED_TEST(PrimOf, MaskedFmaLeavesHiddenLanesAlone) {
  using T = TypeParam;
  // A hidden lane keeps c, infinity times zero included.
  Values<T> a({5, 5, 5, 5, 5, 5});
  Values<T> b({2, this->kInf, 2, this->kNaN, this->kInf, 0}), c({1, 7, 1, -0.0f, 3, 4});
  Values<T> result({0, 0, 0, 0, 0, 0});
  probe<T>().fma_where(0b100101, a.data(), b.data(), c.data(), result.data(), a.count());
  const T want[] = {11, 7, 11, -0.0f, 3, 4};
  for (int n = 0; n < 6; ++n) EXPECT_EQ(result.data()[n], want[n]) << n;
  EXPECT_TRUE(std::signbit(result.data()[3]));
}

TYPED_TEST(PrimOf, MaximumIgnoresANaNOnTheLeftOnly) {
  using T = TypeParam;
  Values<T> a({this->kNaN, 3, 1, -this->kInf}), b({2, this->kNaN, 4, -this->kInf}), y({0, 0, 0, 0});
  probe<T>().maximum(a.data(), b.data(), y.data(), a.count());
  EXPECT_EQ(y.data()[0], T(2));
  EXPECT_TRUE(std::isnan(y.data()[1]));
  EXPECT_EQ(y.data()[2], T(4));
  EXPECT_EQ(y.data()[3], -this->kInf);
}

TYPED_TEST(PrimOf, MinimumIgnoresANaNOnTheLeftOnly) {
  using T = TypeParam;
  Values<T> a({this->kNaN, 3, 1, -this->kInf}), b({2, this->kNaN, 4, -this->kInf}), y({0, 0, 0, 0});
  probe<T>().minimum(a.data(), b.data(), y.data(), a.count());
  EXPECT_EQ(y.data()[0], T(2));
  EXPECT_TRUE(std::isnan(y.data()[1]));
  EXPECT_EQ(y.data()[2], T(1));
  EXPECT_EQ(y.data()[3], -this->kInf);
}

TYPED_TEST(PrimOf, MagnitudeDropsTheSign) {
  using T = TypeParam;
  Values<T> x({-3, 2, -this->kInf, this->kNaN}), y({0, 0, 0, 0});
  probe<T>().magnitude(x.data(), y.data(), x.count());
  EXPECT_EQ(y.data()[0], T(3));
  EXPECT_EQ(y.data()[1], T(2));
  EXPECT_EQ(y.data()[2], this->kInf);
  EXPECT_TRUE(std::isnan(y.data()[3]));
}

TYPED_TEST(PrimOf, TanhIsWithinItsStatedUlpsAlsoNearZero) {
  using T = TypeParam;
  std::mt19937_64 engine(5);
  std::uniform_real_distribution<double> exponent(-30, 6);
  constexpr int kCount = 160000;
  std::vector<T> x(kCount);
  for (std::size_t n = 0; n < x.size(); ++n) {
    x[n] = T(n % 2 ? -1 : 1) * T(std::exp2(exponent(engine)));
  }
  Values<T> xv(x), y(x);
  probe<T>().tanh(xv.data(), y.data(), xv.count());
  double worst = 0;
  for (std::size_t n = 0; n < x.size(); ++n) {
    const long double exact = std::tanh(static_cast<long double>(x[n]));
    const long double error = std::abs((static_cast<long double>(y.data()[n]) - exact) / exact);
    worst = std::max(worst, double(error) / double(std::numeric_limits<T>::epsilon()));
  }
  EXPECT_LE(worst, sizeof(T) == 4 ? 3 : 5);
  this->RecordProperty("worst_ulp", std::to_string(worst));
}

TYPED_TEST(PrimOf, TransposeTurnsRowsIntoColumns) {
  using T = TypeParam;
  const int lanes = probe<T>().lanes;
  std::vector<T> numbers(std::size_t(lanes * lanes));
  for (std::size_t n = 0; n < numbers.size(); ++n) numbers[n] = T(n);
  Values<T> x(numbers), y(numbers);
  probe<T>().transpose(x.data(), y.data());
  for (int i = 0; i < lanes; ++i) {
    for (int j = 0; j < lanes; ++j) EXPECT_EQ(y.data()[j * lanes + i], T(i * lanes + j));
  }
}

TYPED_TEST(PrimOf, EqualLanesAreBits) {
  using T = TypeParam;
  const int lanes = probe<T>().lanes;
  for (int set = 0; set < 1 << lanes; set += lanes == 16 ? 37 : 1) {
    std::vector<T> a(std::size_t(lanes), this->kNaN), b(std::size_t(lanes), this->kNaN);
    for (int n = 0; n < lanes; ++n) {
      if (set >> n & 1) a[std::size_t(n)] = b[std::size_t(n)] = n % 2 ? -this->kInf : T(n);
    }
    Values<T> av(a), bv(b);
    EXPECT_EQ(probe<T>().equal_lanes(av.data(), bv.data()), std::uint64_t(set));
  }
}

TEST(Prim, BytesThatAreNotZeroAreBits) {
  std::mt19937_64 engine(9);
  for (int round = 0; round < 2000; ++round) {
    std::uint8_t bytes[65] = {};
    std::uint64_t want = 0;
    for (int n = 0; n < 64; ++n) {
      // Among them 0x80 and 0x01, whose carries could reach a neighbour.
      const std::uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff, std::uint8_t(engine())};
      bytes[n + 1] = values[engine() % 6];
      want |= std::uint64_t(bytes[n + 1] != 0) << n;
    }
    EXPECT_EQ(probes().bytes_set(bytes + 1), want);
  }
}

TEST(Prim, LogIsWithinItsStatedUlps) {
  std::mt19937_64 engine(2);
  std::uniform_real_distribution<double> exponent(-300, 300);
  for (int n = 0; n < 200000; ++n) {
    const double x = n % 2 ? std::exp2(exponent(engine)) : 1 + exponent(engine) / 400;
    const long double exact = std::log(static_cast<long double>(x));
    const double scale = std::max(std::abs(double(exact)), std::log(2.0));
    EXPECT_NEAR(probes().log_positive(x), double(exact), 2 * scale * 0x1p-52) << x;
  }
  EXPECT_EQ(probes().log_positive(1), 0);
  EXPECT_TRUE(std::isinf(probes().log_positive(HUGE_VAL)));
  EXPECT_TRUE(std::isnan(probes().log_positive(std::nan(""))));
}

}  // namespace
}  // namespace regard::test
