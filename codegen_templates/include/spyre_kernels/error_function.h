// erf and erfc in float32.
//
// At most 4 ulp, right at inf, NaN, zeros and denormals. A scalar is lane 0 of the lanes, so that a
// value does not depend on where it was computed.
//
// Source: erf by own minimax fits between tabulated points, erfc by the polynomials of N. Juffa's
// public-domain erfcf.
#ifndef SPYRE_KERNELS_ERROR_FUNCTION_H_
#define SPYRE_KERNELS_ERROR_FUNCTION_H_

#include "spyre_kernels/exponential.h"

namespace spyre::kernels {

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

#define SPYRE_SCALAR(NAME) \
  SPYRE_INLINE f32 NAME(f32 x) { return lane(NAME(splat(x)), 0); }
SPYRE_SCALAR(erf)
SPYRE_SCALAR(erfc)
#undef SPYRE_SCALAR

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_ERROR_FUNCTION_H_
