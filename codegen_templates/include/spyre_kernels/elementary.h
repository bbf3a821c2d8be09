// exp, log and their kin in float32, at most 4 ulp, exact at inf, NaN, zeros and denormals.
//
// Source: Cody-Waite argument reduction with the polynomials of Cephes (S. Moshier) and of
// N. Juffa's public-domain erff/erfcf.
#ifndef SPYRE_KERNELS_ELEMENTARY_H_
#define SPYRE_KERNELS_ELEMENTARY_H_

#include "spyre_kernels/arithmetic.h"

namespace spyre::kernels {

SPYRE_INLINE f32v lanes(f32 x) { return splat<f32>(x); }

// Horner's rule on `sum`; coefficients go from high to low powers.
template <class... C>
SPYRE_INLINE f32v horner(const f32v& x, f32v sum, C... coefficients) {
  ((sum = fma(sum, x, lanes(coefficients))), ...);
  return sum;
}
template <class... C>
SPYRE_INLINE f32v polynomial(const f32v& x, f32 highest, C... rest) {
  return horner(x, lanes(highest), rest...);
}

// x = n ln2 + r with |r| <= ln2 / 2.
struct ExpReduction {
  f32v n, r;
};
SPYRE_INLINE ExpReduction reduce_by_ln2(const f32v& x) {
  const f32v n = round_even(x * lanes(1.44269504f));
  const f32v r = fma(n, lanes(-1.42860677e-6f), fma(n, lanes(-6.93145752e-1f), x));
  return {n, r};
}
// (e^r - 1 - r) / r^2
SPYRE_INLINE f32v exp_core(const f32v& r) {
  return polynomial(r, 1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f,
                    1.6666665459e-1f, 5.0000001201e-1f);
}

SPYRE_INLINE f32v exp(const f32v& x) {
  const f32v clipped = at_least(lanes(-105.0f), at_most(lanes(89.0f), x));
  const auto [n, r] = reduce_by_ln2(clipped);
  const f32v e = fma(exp_core(r), r * r, r) + lanes(1.0f);
  return scale_by_power(e, n);
}
SPYRE_INLINE f32v exp2(const f32v& x) {
  const f32v clipped = at_least(lanes(-152.0f), at_most(lanes(129.0f), x));
  const f32v n = round_even(clipped);
  const f32v r = (clipped - n) * lanes(6.93147182e-1f);
  return scale_by_power(fma(exp_core(r), r * r, r) + lanes(1.0f), n);
}
SPYRE_INLINE f32v expm1(const f32v& x) {
  const f32v clipped = at_least(lanes(-30.0f), at_most(lanes(89.0f), x));
  const auto [n, r] = reduce_by_ln2(clipped);
  const f32v core = fma(exp_core(r), r * r, r);
  // 2 (2^(n-1) core + 2^(n-1) - 1/2): 2^128 would overflow where the result does not.
  const f32v half = scale_by_power(lanes(1.0f), n - lanes(1.0f));
  const f32v result = fma(half, core, half - lanes(0.5f)) * lanes(2.0f);
  return where(n == lanes(0.0f), copysign(core, x), result);
}
SPYRE_INLINE f32v sigmoid(const f32v& x) { return lanes(1.0f) / (lanes(1.0f) + exp(-x)); }
SPYRE_INLINE f32v tanh(const f32v& x) {
  const f32v e = expm1(at_most(lanes(20.0f), abs(x) + abs(x)));
  return copysign(e / (e + lanes(2.0f)), x);
}

// x = m 2^e with m in [sqrt(1/2), sqrt(2)); `excess` is m - 1.
struct LogReduction {
  f32v exponent, excess;
};
SPYRE_INLINE LogReduction reduce_to_sqrt2(const f32v& x) {
  const Mask tiny = x < lanes(0x1p-126f);
  const f32v scaled = where(tiny, x * lanes(0x1p24f), x);
  const i32v bits = bitcast<i32>(scaled) - splat<i32>(0x3f3504f3);
  const f32v exponent =
      convert_pack<f32>(bits >> splat<i32>(23)) - where(tiny, lanes(24.0f), lanes(0.0f));
  const f32v m = bitcast<f32>((bits & splat<i32>(0x007fffff)) + splat<i32>(0x3f3504f3));
  return {exponent, m - lanes(1.0f)};
}
// log(1 + m) - m for m = excess
SPYRE_INLINE f32v log_core(const f32v& m) {
  const f32v p = polynomial(m, 7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f,
                            -1.2420140846e-1f, 1.4249322787e-1f, -1.6668057665e-1f,
                            2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f);
  const f32v square = m * m;
  return fma(square, lanes(-0.5f), p * m * square);
}
// The limits of every logarithm: log(0) = -inf, log(inf) = inf, NaN below zero.
SPYRE_INLINE f32v log_limits(const f32v& x, const f32v& y) {
  const f32v upper = where(x < lanes(kInf32), y, x + x);
  const f32v zero = where(x == lanes(0.0f), lanes(-kInf32), upper);
  return where(x < lanes(0.0f), lanes(kNan32), zero);
}
SPYRE_INLINE f32v log(const f32v& x) {
  const auto [e, m] = reduce_to_sqrt2(x);
  const f32v low = fma(e, lanes(-2.12194440e-4f), log_core(m));
  return log_limits(x, fma(e, lanes(0.693359375f), m + low));
}
SPYRE_INLINE f32v log2(const f32v& x) {
  const auto [e, m] = reduce_to_sqrt2(x);
  // 1/ln2 = 1.44269502 + 1.925963e-8
  const f32v core = log_core(m);
  const f32v low = fma(core, lanes(1.44269502f), (m + core) * lanes(1.925963033e-8f));
  return log_limits(x, e + fma(m, lanes(1.44269502f), low));
}
SPYRE_INLINE f32v log10(const f32v& x) {
  const auto [e, m] = reduce_to_sqrt2(x);
  const f32v core = log_core(m);
  // log10(2) = 0.30102539 + 4.6050390e-6, 1/ln10 = 0.43429449 - 1.0108e-8
  const f32v low = fma(e, lanes(4.605038981e-6f), core * lanes(0.4342944819f));
  return log_limits(x, fma(e, lanes(0.301025390625f), fma(m, lanes(0.4342944819f), low)));
}
SPYRE_INLINE f32v log1p(const f32v& x) {
  const f32v u = x + lanes(1.0f);
  // What rounding u lost, to first order; below 1/2 and above 2^24 it lost nothing that counts.
  const Mask inexact = (u > lanes(0.5f)) & (u < lanes(0x1p24f));
  const f32v lost = where(inexact, (x - (u - lanes(1.0f))) / u, lanes(0.0f));
  return where(u == lanes(1.0f), x, log(u) + lost);
}

SPYRE_INLINE f32v erf(const f32v& x) {
  const f32v t = abs(x), s = x * x;
  const f32v u = polynomial(t, -3.88396438e-3f, 2.42546219e-2f);
  f32v r = fma(polynomial(t, -1.72853470e-5f, 3.83197126e-4f), s, u);
  r = horner(t, r, -1.06777877e-1f, -6.34846687e-1f, -1.28717512e-1f);
  const f32v tail = copysign(lanes(1.0f) - exp(fma(r, t, -t)), x);
  const f32v p = polynomial(s, -5.96761703e-4f, 4.99119423e-3f, -2.67681349e-2f, 1.12819925e-1f,
                            -3.76125336e-1f, 1.28379166e-1f);
  // Beyond 4 the tail polynomial turns around; the result has long been 1.
  const f32v outer = where(t > lanes(4.0f), copysign(lanes(1.0f), x), tail);
  return where(t > lanes(0.927734375f), outer, fma(p, x, x));
}
SPYRE_INLINE f32v erfc(const f32v& x) {
  const f32v a = abs(x), one = lanes(1.0f);
  // q = (a - 2) / (a + 2), with its rounding error put back.
  f32v r = one / (a + lanes(2.0f));
  f32v q = (a - lanes(2.0f)) * r;
  f32v e = fma(q, -a, fma(q + one, lanes(-2.0f), a));
  q = fma(r, e, q);
  const f32v p = polynomial(q, -4.01139259e-4f, -1.23075210e-3f, 1.31355342e-3f, 8.63227434e-3f,
                            -8.05991981e-3f, -5.42046614e-2f, 1.64055392e-1f, -1.66031361e-1f,
                            -9.27639827e-2f, 2.76978403e-1f);
  // (1 + p) / (1 + 2a) = exp(a^2) erfc(a)
  r = one / fma(lanes(2.0f), a, one);
  q = fma(p, r, r);
  e = fma(fma(q, -a, lanes(0.5f)), lanes(2.0f), p - q);
  r = fma(e, r, q);
  const f32v s = a * a;
  e = exp(-s);
  r = fma(r, e, r * e * fma(-a, a, s));
  r = where(a > lanes(10.0546875f), lanes(0.0f), r);
  return where(x != x, x, where(x < lanes(0.0f), lanes(2.0f) - r, r));
}

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_ELEMENTARY_H_
