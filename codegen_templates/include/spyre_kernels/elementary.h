// exp, log and their kin in float32, at most 4 ulp, exact at inf, NaN, zeros and denormals.
//
// Source: Cody-Waite argument reduction with the polynomials of Cephes (S. Moshier) and of
// N. Juffa's public-domain erfcf; exp and erf by own minimax fits between tabulated points.
#ifndef SPYRE_KERNELS_ELEMENTARY_H_
#define SPYRE_KERNELS_ELEMENTARY_H_

#include "spyre_kernels/arithmetic.h"
#include "spyre_kernels/lookup.h"

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

// 2^(j/16)
inline constexpr Table16 kPowers = {{1.0f, 1.04427373f, 1.09050775f, 1.13878858f, 1.18920708f,
                                     1.24185777f, 1.29683959f, 1.35425556f, 1.41421354f,
                                     1.47682619f, 1.54221082f, 1.61049032f, 1.68179286f,
                                     1.75625217f, 1.8340081f, 1.91520655f}};
// Adding this rounds to sixteenths, and leaves their number in the last bits.
inline constexpr f32 kToSixteenths = 0x1.8p19f;
// e^r 2^n, |r| <= ln2 / 32; `shifted` is n + kToSixteenths.
SPYRE_INLINE f32v exp_near(const f32v& r, const f32v& n, const f32v& shifted) {
  const f32v power = lookup(kPowers, bitcast<i32>(shifted));
  const f32v grown = r * polynomial(r, 0.166669592f, 0.500014663f, 1.0f);
  return scale_by_power(fma(power, grown, power), n);
}
SPYRE_INLINE f32v exp(const f32v& x) {
  const f32v clipped = at_least(lanes(-105.0f), at_most(lanes(89.0f), x));
  const f32v shifted = fma(clipped, lanes(1.44269504f), lanes(kToSixteenths));
  const f32v n = shifted - lanes(kToSixteenths);
  const f32v r = fma(n, lanes(2.12194440e-4f), fma(n, lanes(-0.693359375f), clipped));
  return exp_near(r, n, shifted);
}
SPYRE_INLINE f32v exp2(const f32v& x) {
  const f32v clipped = at_least(lanes(-152.0f), at_most(lanes(129.0f), x));
  const f32v shifted = clipped + lanes(kToSixteenths);
  const f32v n = shifted - lanes(kToSixteenths);
  return exp_near((clipped - n) * lanes(6.93147182e-1f), n, shifted);
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

// erf(x) / x around the multiples of 17/64, by powers of the distance, the highest first.
inline constexpr Table16 kErfRatio[] = {
    {{0.0f, -0.0373662598f, -0.0495716408f, -0.033407297f, -0.0063549066f, 0.0125804972f,
      0.017147338f, 0.0124552157f, 0.00592198363f, 0.00149605167f, -0.00043413823f,
      -0.000882714812f, -0.000768875238f, -0.000550213677f, -0.000371184229f, -0.000249134871f}},
    {{0.112129807f, 0.0857039914f, 0.0246089734f, -0.0328172594f, -0.059197221f, -0.0535786226f,
      -0.0324496105f, -0.0122415824f, -0.000138341595f, 0.00449468195f, 0.0049818242f,
      0.00400801422f, 0.00288421102f, 0.00200875336f, 0.00140319334f, 0.00099669327f}},
    {{0.0f, 0.110195808f, 0.170454711f, 0.16387704f, 0.111303806f, 0.0488217771f, 0.00251145847f,
      -0.0205837004f, -0.026271008f, -0.023358006f, -0.0180644114f, -0.0132293636f, -0.00958393607f,
      -0.00701430952f, -0.00522593595f, -0.00396747468f}},
    {{-0.3761217f, -0.330310315f, -0.214093044f, -0.0767723173f, 0.0347306542f, 0.0980967581f,
      0.117024027f, 0.108383708f, 0.0888636261f, 0.0687700734f, 0.0522369556f, 0.0398395546f,
      0.0308298506f, 0.0242782421f, 0.0194438361f, 0.0158093814f}},
    {{0.0f, -0.191567406f, -0.338311285f, -0.415325522f, -0.424613595f, -0.387110084f,
      -0.328330994f, -0.26764667f, -0.215058103f, -0.173293352f, -0.141339287f, -0.117052414f,
      -0.0984093472f, -0.0838617161f, -0.0723109692f, -0.0629911199f}},
    {{1.12837911f, 1.10239339f, 1.03064179f, 0.928924859f, 0.816054821f, 0.707503676f, 0.612265229f,
      0.533216953f, 0.469339281f, 0.417998374f, 0.376405716f, 0.342233688f, 0.313723445f,
      0.289592445f, 0.268907517f, 0.250980377f}},
};
// From here on the result is 1, which this number gives exactly, with fused operations or not.
inline constexpr f32 kErfIsOne = 0x1.f5c2a2p+1f;
SPYRE_INLINE f32v erf(const f32v& x) {
  const f32v clipped = at_least(lanes(-kErfIsOne), at_most(lanes(kErfIsOne), x));
  const f32v t = abs(clipped);
  const f32v shifted = fma(t, lanes(64.0f / 17.0f), lanes(0x1.8p23f));
  const f32v r = fma(shifted - lanes(0x1.8p23f), lanes(-0.265625f), t);
  const i32v number = bitcast<i32>(shifted);
  f32v ratio = lookup(kErfRatio[0], number);
#pragma GCC unroll 5
  for (int i = 1; i < 6; ++i) ratio = fma(ratio, r, lookup(kErfRatio[i], number));
  return clipped * ratio;
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
