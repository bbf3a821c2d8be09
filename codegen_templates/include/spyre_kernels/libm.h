// The host's mathematical library, by its own prototypes: float64, and the float32 functions that
// are too rare for a vector form of their own. One lane at a time unless libmvec has them.
#ifndef SPYRE_KERNELS_LIBM_H_
#define SPYRE_KERNELS_LIBM_H_

#include "spyre_kernels/arithmetic.h"

namespace spyre::kernels {

namespace libm {
extern "C" {
#define SPYRE_PROTOTYPE(NAME) \
  f64 NAME(f64);              \
  f32 NAME##f(f32);
SPYRE_PROTOTYPE(exp)
SPYRE_PROTOTYPE(exp2)
SPYRE_PROTOTYPE(expm1)
SPYRE_PROTOTYPE(log)
SPYRE_PROTOTYPE(log2)
SPYRE_PROTOTYPE(log10)
SPYRE_PROTOTYPE(log1p)
SPYRE_PROTOTYPE(tanh)
SPYRE_PROTOTYPE(erf)
SPYRE_PROTOTYPE(erfc)
SPYRE_PROTOTYPE(sin)
SPYRE_PROTOTYPE(cos)
SPYRE_PROTOTYPE(tan)
SPYRE_PROTOTYPE(sinh)
SPYRE_PROTOTYPE(cosh)
SPYRE_PROTOTYPE(asin)
SPYRE_PROTOTYPE(acos)
SPYRE_PROTOTYPE(atan)
SPYRE_PROTOTYPE(asinh)
SPYRE_PROTOTYPE(acosh)
SPYRE_PROTOTYPE(atanh)
SPYRE_PROTOTYPE(lgamma)
#undef SPYRE_PROTOTYPE
#define SPYRE_PROTOTYPE(NAME) \
  f64 NAME(f64, f64);         \
  f32 NAME##f(f32, f32);
SPYRE_PROTOTYPE(pow)
SPYRE_PROTOTYPE(atan2)
SPYRE_PROTOTYPE(hypot)
SPYRE_PROTOTYPE(nextafter)
SPYRE_PROTOTYPE(fmod)
#undef SPYRE_PROTOTYPE
f64 ldexp(f64, int);
f32 ldexpf(f32, int);
f64 frexp(f64, int*);
f32 frexpf(f32, int*);
}
}  // namespace libm

// glibc's vector functions (libmvec, at most 4 ulp), those that every glibc since 2.22 has.
namespace libmvec {
#define SPYRE_VARIANTS(WIDTH, DOUBLES)                                  \
  typedef f64 Doubles##WIDTH __attribute__((vector_size(DOUBLES * 8))); \
  typedef f32 Floats##WIDTH __attribute__((vector_size(DOUBLES * 8)));
SPYRE_VARIANTS(e, 8)
SPYRE_VARIANTS(d, 4)
SPYRE_VARIANTS(b, 2)
#undef SPYRE_VARIANTS
extern "C" {
#define SPYRE_PROTOTYPE(NAME)         \
  Doublese _ZGVeN8v_##NAME(Doublese); \
  Doublesd _ZGVdN4v_##NAME(Doublesd); \
  Doublesb _ZGVbN2v_##NAME(Doublesb);
SPYRE_PROTOTYPE(exp)
SPYRE_PROTOTYPE(log)
SPYRE_PROTOTYPE(sin)
SPYRE_PROTOTYPE(cos)
#undef SPYRE_PROTOTYPE
Doublese _ZGVeN8vv_pow(Doublese, Doublese);
Doublesd _ZGVdN4vv_pow(Doublesd, Doublesd);
Doublesb _ZGVbN2vv_pow(Doublesb, Doublesb);
Floatse _ZGVeN16vv_powf(Floatse, Floatse);
Floatsd _ZGVdN8vv_powf(Floatsd, Floatsd);
Floatsb _ZGVbN4vv_powf(Floatsb, Floatsb);
}
// A name for each register width.
#if defined(SPYRE_AVX512)
#define SPYRE_LIBMVEC(N16, N8, N4, SUFFIX) _ZGVeN##N16##SUFFIX
#elif defined(__AVX2__)
#define SPYRE_LIBMVEC(N16, N8, N4, SUFFIX) _ZGVdN##N8##SUFFIX
#else
#define SPYRE_LIBMVEC(N16, N8, N4, SUFFIX) _ZGVbN##N4##SUFFIX
#endif
#define SPYRE_PARTS_1(NAME)                           \
  template <class T, int N>                           \
  SPYRE_INLINE Pack<T, N> NAME(const Pack<T, N>& a) { \
    if constexpr (N * sizeof(T) <= kRegisterBytes) {  \
      return {SPYRE_LIBMVEC(8, 4, 2, v_##NAME)(a.v)}; \
    } else {                                          \
      return {NAME(a.lo), NAME(a.hi)};                \
    }                                                 \
  }
SPYRE_PARTS_1(exp)
SPYRE_PARTS_1(log)
SPYRE_PARTS_1(sin)
SPYRE_PARTS_1(cos)
#undef SPYRE_PARTS_1
template <class T, int N>
SPYRE_INLINE Pack<T, N> pow(const Pack<T, N>& a, const Pack<T, N>& b) {
  if constexpr (N * sizeof(T) > kRegisterBytes) {
    return {pow(a.lo, b.lo), pow(a.hi, b.hi)};
  } else if constexpr (sizeof(T) == 4) {
    return {SPYRE_LIBMVEC(16, 8, 4, vv_powf)(a.v, b.v)};
  } else {
    return {SPYRE_LIBMVEC(8, 4, 2, vv_pow)(a.v, b.v)};
  }
}
#undef SPYRE_LIBMVEC
}  // namespace libmvec

// The same function of a scalar and of lanes.
#define SPYRE_LANEWISE_1(NAME, T, FUNCTION)                             \
  SPYRE_INLINE T NAME(T x) { return FUNCTION(x); }                      \
  SPYRE_INLINE Vec<T> NAME(const Vec<T>& x) {                           \
    return each_lane<T>([](T v) SPYRE_STEP { return FUNCTION(v); }, x); \
  }
#define SPYRE_LANEWISE_2(NAME, T, FUNCTION)                                        \
  SPYRE_INLINE T NAME(T x, T y) { return FUNCTION(x, y); }                         \
  SPYRE_INLINE Vec<T> NAME(const Vec<T>& x, const Vec<T>& y) {                     \
    return each_lane<T>([](T v, T w) SPYRE_STEP { return FUNCTION(v, w); }, x, y); \
  }
#define SPYRE_BOTH_1(NAME)                   \
  SPYRE_LANEWISE_1(NAME, f32, libm::NAME##f) \
  SPYRE_LANEWISE_1(NAME, f64, libm::NAME)
#define SPYRE_BOTH_2(NAME)                   \
  SPYRE_LANEWISE_2(NAME, f32, libm::NAME##f) \
  SPYRE_LANEWISE_2(NAME, f64, libm::NAME)

SPYRE_BOTH_1(sinh)
SPYRE_BOTH_1(cosh)
SPYRE_BOTH_1(asin)
SPYRE_BOTH_1(acos)
SPYRE_BOTH_1(atan)
SPYRE_BOTH_1(asinh)
SPYRE_BOTH_1(acosh)
SPYRE_BOTH_1(atanh)
SPYRE_BOTH_1(lgamma)
SPYRE_BOTH_2(atan2)
SPYRE_BOTH_2(hypot)
SPYRE_BOTH_2(nextafter)
SPYRE_BOTH_2(fmod)

// float64 of the functions whose float32 is in elementary.h and trigonometry.h.
SPYRE_INLINE f64 exp(f64 x) { return libm::exp(x); }
SPYRE_INLINE f64v exp(const f64v& x) { return libmvec::exp(x); }
SPYRE_LANEWISE_1(exp2, f64, libm::exp2)
SPYRE_LANEWISE_1(expm1, f64, libm::expm1)
SPYRE_INLINE f64 log(f64 x) { return libm::log(x); }
SPYRE_INLINE f64v log(const f64v& x) { return libmvec::log(x); }
SPYRE_LANEWISE_1(log2, f64, libm::log2)
SPYRE_LANEWISE_1(log10, f64, libm::log10)
SPYRE_LANEWISE_1(log1p, f64, libm::log1p)
SPYRE_LANEWISE_1(tanh, f64, libm::tanh)
SPYRE_LANEWISE_1(erf, f64, libm::erf)
SPYRE_LANEWISE_1(erfc, f64, libm::erfc)
SPYRE_INLINE f64 sin(f64 x) { return libm::sin(x); }
SPYRE_INLINE f64v sin(const f64v& x) { return libmvec::sin(x); }
SPYRE_INLINE f64 cos(f64 x) { return libm::cos(x); }
SPYRE_INLINE f64v cos(const f64v& x) { return libmvec::cos(x); }
SPYRE_LANEWISE_1(tan, f64, libm::tan)
SPYRE_INLINE f64 sigmoid(f64 x) { return 1.0 / (1.0 + libm::exp(-x)); }
SPYRE_INLINE f64v sigmoid(const f64v& x) { return splat(1.0) / (splat(1.0) + exp(-x)); }

// Integers take fmod as C's %, and remainder the sign of the divisor; floats likewise.
template <Integer T>
SPYRE_INLINE T fmod(T a, T b) {
  return c_mod(a, b);
}
template <Integer T>
SPYRE_INLINE Vec<T> fmod(const Vec<T>& a, const Vec<T>& b) {
  return c_mod(a, b);
}
template <Float T>
SPYRE_INLINE T remainder(T a, T b) {
  const T r = fmod(a, b);
  return r != T(0) && (b < T(0)) != (r < T(0)) ? r + b : r;
}
template <Float T>
SPYRE_INLINE Vec<T> remainder(const Vec<T>& a, const Vec<T>& b) {
  const Vec<T> r = fmod(a, b), zero = splat(T(0));
  return where((r != zero) & ((b < zero) != (r < zero)), r + b, r);
}

SPYRE_INLINE f32 pow(f32 a, f32 b) { return libm::powf(a, b); }
SPYRE_INLINE f64 pow(f64 a, f64 b) { return libm::pow(a, b); }
// Whole powers by squaring; a negative exponent leaves only 1 and -1.
template <Integer T>
SPYRE_INLINE T pow(T base, T exponent) {
  if (exponent < T(0)) {
    if (base == T(1)) return T(1);
    return base == T(-1) ? (exponent % 2 != 0 ? T(-1) : T(1)) : T(0);
  }
  T power = 1;
  for (; exponent > T(0); exponent = T(exponent >> 1)) {
    if (exponent & T(1)) power = T(power * base);
    base = T(base * base);
  }
  return power;
}
template <Integer T>
SPYRE_INLINE Vec<T> pow(const Vec<T>& a, const Vec<T>& b) {
  return each_lane<T>([](T x, T y) SPYRE_STEP { return pow(x, y); }, a, b);
}
template <Float T>
SPYRE_INLINE Vec<T> pow(const Vec<T>& a, const Vec<T>& b) {
  return libmvec::pow(a, b);
}

SPYRE_INLINE f32 ldexp(f32 x, i32 n) { return libm::ldexpf(x, n); }
SPYRE_INLINE f64 ldexp(f64 x, i32 n) { return libm::ldexp(x, n); }
template <Float T>
SPYRE_INLINE Vec<T> ldexp(const Vec<T>& x, const i32v& n) {
  return each_lane<T>([](T v, i32 e) SPYRE_STEP { return ldexp(v, e); }, x, n);
}
SPYRE_INLINE f64 split(f64 x, int* exponent) { return libm::frexp(x, exponent); }
SPYRE_INLINE f32 split(f32 x, int* exponent) { return libm::frexpf(x, exponent); }
template <Float T>
SPYRE_INLINE T frexp_mantissa(T x) {
  int exponent = 0;
  return split(x, &exponent);
}
template <Float T>
SPYRE_INLINE i32 frexp_exponent(T x) {
  int exponent = 0;
  split(x, &exponent);
  // C leaves the exponent of inf and NaN open; glibc gives 0.
  return x - x == T(0) ? exponent : 0;
}
template <Float T>
SPYRE_INLINE Vec<T> frexp_mantissa(const Vec<T>& x) {
  return each_lane<T>([](T v) SPYRE_STEP { return frexp_mantissa(v); }, x);
}
template <Float T>
SPYRE_INLINE i32v frexp_exponent(const Vec<T>& x) {
  return each_lane<i32>([](T v) SPYRE_STEP { return frexp_exponent(v); }, x);
}

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_LIBM_H_
