// 2^x for vectors, within 1.3 ulp (measured 1.006 from the nearest integer, 1.21 from the
// floor, 1.26 where fma rounds twice) over the results that are normal numbers; smaller ones are 0.
// 2^0 is exactly 1; both infinities and NaN give NaN or infinity: only a non-finite input makes a
// score infinite, and such a row must not look healthy.
#pragma once

namespace regard::REGARD_ISA {

// Coefficients of f^1, f^2, ... of the polynomial 1 + f g(f) that is closest to 2^f in relative
// error (Remez), rounded to T. On [-1/2, 1/2] all are rounded at once: 2.1e-8 for f32 and 4.2e-17
// for f64, both below half a unit roundoff. On [0, 1] one after the other, those behind it fitted
// again: 2.1e-9 and 3.4e-18.
template <class T>
struct Exp2Coefficients;

template <>
struct Exp2Coefficients<float> {
  static constexpr float kNearest[] = {0.6931472149680279f,    0.2402265278288773743f,
                                       0.0555031055101379717f, 0.0096176929729930623f,
                                       0.0013406643902351759f, 0.00015594678161326619f};
  static constexpr float kFloor[] = {0.69314706325531006f,   0.240229085087776184f,
                                     0.055486183613538742f,  0.0096737751737236977f,
                                     0.0012482288293540478f, 0.00021565984934568405f};
};

template <>
struct Exp2Coefficients<double> {
  static constexpr double kNearest[] = {
      0.69314718055994569675,   0.24022650695910098007,   0.055504108664790394552,
      0.0096181291076070023796, 0.0013333558153439964747, 0.0001540353044157213033,
      1.5252727385193868197e-5, 1.3215442675329822143e-6, 1.0180647659234138888e-7,
      7.0725704128144235096e-9, 4.078071929588336665e-10};
  static constexpr double kFloor[] = {
      0.6931471805599459523606,   0.2402265069590619750439,   0.05550410866562733441798,
      0.009618129099318821831344, 0.001333355864177681281146, 0.0001540351191531643163749,
      1.525318313982218847386e-5, 1.320826175771108193741e-6, 1.025406174505918339746e-7,
      6.55568952120511205655e-9,  6.270925043760787001364e-10};
};

/// c[0] + c[1] f + ..., from the last on.
template <class T, int kTerms>
[[gnu::always_inline]] inline typename Simd<T>::Vector polynomial(const T (&c)[kTerms],
                                                                  typename Simd<T>::Vector f) {
  auto p = broadcast(c[kTerms - 1]);
#pragma GCC unroll 12
  for (int i = kTerms - 2; i >= 0; --i) p = fma(p, f, broadcast(c[i]));
  return p;
}

/// (2^f - 1) / f for |f| <= 1/2.
template <class T>
[[gnu::always_inline]] inline typename Simd<T>::Vector exp2_slope(typename Simd<T>::Vector f) {
  return polynomial(Exp2Coefficients<T>::kNearest, f);
}

/// Where the ISA takes x apart by its floor, in fewer instructions. -infinity would give 0: what is
/// added is NaN for it, and else 0.
template <class T>
[[gnu::always_inline]] inline typename Simd<T>::Vector exp2(typename Simd<T>::Vector x) {
  const auto one = broadcast(T(1));
  if constexpr (Simd<T>::kScalesByFloor) {
    const auto f = above_floor(x);
    const auto power = fma(polynomial(Exp2Coefficients<T>::kFloor, f), f, one);
    return fma(x, broadcast(T(0)), times_power_of_floor(power, x));
  } else {
    const auto n = round_to_integer(x);
    const auto f = x - n;
    return times_power_of_two(fma(exp2_slope<T>(f), f, one), n);
  }
}

/// The same for one f64 number, for the finish of a row.
inline double exp2_of(double x) {
  alignas(64) double lanes[Simd<double>::kLanes];
  store(lanes, exp2<double>(broadcast(x)));
  return lanes[0];
}

}  // namespace regard::REGARD_ISA
