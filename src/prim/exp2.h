// 2^x for vectors, within 1.1 ulp (measured 1.006; where fma rounds twice 1.3, measured 1.26) over
// the results that are normal numbers; smaller ones are 0. 2^0 is exactly 1; both infinities and
// NaN give NaN or infinity: only a non-finite input makes a score infinite, and such a row must
// not look healthy.
#pragma once

namespace regard::REGARD_ISA {

// Coefficients of f^1, f^2, ... of the polynomial 1 + f g(f) that is closest to 2^f in relative
// error on [-1/2, 1/2] (Remez), rounded to T: 2.1e-8 for f32 and 4.2e-17 for f64, both below half a
// unit roundoff.
template <class T>
struct Exp2Coefficients;

template <>
struct Exp2Coefficients<float> {
  static constexpr float kValues[] = {0.6931472149680279f,    0.2402265278288773743f,
                                      0.0555031055101379717f, 0.0096176929729930623f,
                                      0.0013406643902351759f, 0.00015594678161326619f};
};

template <>
struct Exp2Coefficients<double> {
  static constexpr double kValues[] = {
      0.69314718055994569675,   0.24022650695910098007,   0.055504108664790394552,
      0.0096181291076070023796, 0.0013333558153439964747, 0.0001540353044157213033,
      1.5252727385193868197e-5, 1.3215442675329822143e-6, 1.0180647659234138888e-7,
      7.0725704128144235096e-9, 4.078071929588336665e-10};
};

/// (2^f - 1) / f for |f| <= 1/2.
template <class T>
[[gnu::always_inline]] inline typename Simd<T>::Vector exp2_slope(typename Simd<T>::Vector f) {
  constexpr auto& c = Exp2Coefficients<T>::kValues;
  constexpr int terms = sizeof(c) / sizeof(c[0]);
  auto p = broadcast(c[terms - 1]);
#pragma GCC unroll 12
  for (int i = terms - 2; i >= 0; --i) p = fma(p, f, broadcast(c[i]));
  return p;
}

template <class T>
[[gnu::always_inline]] inline typename Simd<T>::Vector exp2(typename Simd<T>::Vector x) {
  const auto n = round_to_integer(x);
  const auto f = x - n;
  return times_power_of_two(fma(exp2_slope<T>(f), f, broadcast(T(1))), n);
}

/// The same for one f64 number, for the finish of a row.
inline double exp2_of(double x) {
  alignas(64) double lanes[Simd<double>::kLanes];
  store(lanes, exp2<double>(broadcast(x)));
  return lanes[0];
}

}  // namespace regard::REGARD_ISA
