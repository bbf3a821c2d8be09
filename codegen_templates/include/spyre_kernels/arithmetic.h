// Pointwise operators that C++ has no sign for, on lanes and on scalars alike.
//
// Integers wrap at their own width (their division is in integers.h). A scalar float function is
// lane 0 of the vector function, so that a value does not depend on whether it was computed in
// lanes.
#ifndef SPYRE_KERNELS_ARITHMETIC_H_
#define SPYRE_KERNELS_ARITHMETIC_H_

#include "spyre_kernels/native.h"

namespace spyre::kernels {

template <class T>
concept Float = kIsFloat<T>;
template <class T>
concept Integer = !kIsFloat<T> && !__is_same(T, bool) && requires { typename UnsignedOf<T>; } &&
                  (__is_same(T, SignedOf<T>) || __is_same(T, UnsignedOf<T>));
template <class T>
concept Number = Float<T> || Integer<T>;

// --- extremes: a NaN wins ------------------------------------------------------------------------
template <class T, int N>
SPYRE_INLINE Pack<T, N> maximum(const Pack<T, N>& a, const Pack<T, N>& b) {
  // Not spelled with `where`: GCC 12 takes 0.1 s to fold chains of (a != a ? a : b).
  if constexpr (kIsFloat<T>) {
    return maximum_float(a, b);
  } else {
    return where(a > b, a, b);
  }
}
template <class T, int N>
SPYRE_INLINE Pack<T, N> minimum(const Pack<T, N>& a, const Pack<T, N>& b) {
  // Not spelled with `where`: GCC 12 takes 0.1 s to fold chains of (a != a ? a : b).
  if constexpr (kIsFloat<T>) {
    return minimum_float(a, b);
  } else {
    return where(a < b, a, b);
  }
}
SPYRE_INLINE Mask maximum(const Mask& a, const Mask& b) { return a | b; }
SPYRE_INLINE Mask minimum(const Mask& a, const Mask& b) { return a & b; }
template <class T>
  requires(Number<T> || __is_same(T, bool))
SPYRE_INLINE T maximum(T a, T b) {
  return (a != a || a > b) ? a : b;
}
template <class T>
  requires(Number<T> || __is_same(T, bool))
SPYRE_INLINE T minimum(T a, T b) {
  return (a != a || a < b) ? a : b;
}

// --- sign and magnitude --------------------------------------------------------------------------
template <class T, int N>
SPYRE_INLINE Pack<T, N> abs(const Pack<T, N>& a) {
  if constexpr (kIsFloat<T>) {
    using U = UnsignedOf<T>;
    return bitcast<T>(bitcast<U>(a) & splat_pack<U, N>(U(-1) >> 1));
  } else if constexpr (kIsSigned<T>) {
    return where(a < splat_pack<T, N>(0), -a, a);
  } else {
    return a;
  }
}
template <class T, int N>
SPYRE_INLINE Pack<T, N> copysign(const Pack<T, N>& magnitude, const Pack<T, N>& sign) {
  using U = UnsignedOf<T>;
  const auto sign_bit = splat_pack<U, N>(U(1) << (8 * sizeof(T) - 1));
  return bitcast<T>((bitcast<U>(magnitude) & ~sign_bit) | (bitcast<U>(sign) & sign_bit));
}
template <class T, int N>
SPYRE_INLINE Mask signbit(const Pack<T, N>& a) {
  return bitcast<SignedOf<T>>(a) < splat_pack<SignedOf<T>, N>(0);
}
template <class T, int N>
SPYRE_INLINE Pack<T, N> sign(const Pack<T, N>& a) {
  const auto zero = splat_pack<T, N>(T(0)), one = splat_pack<T, N>(T(1));
  return where(a > zero, one, zero) - where(a < zero, one, zero);
}
template <class T, int N>
SPYRE_INLINE Pack<T, N> relu(const Pack<T, N>& a) {
  const auto zero = splat_pack<T, N>(T(0));
  if constexpr (__is_same(T, f32)) {
    return at_least(zero, a);  // a NaN stays, and so does -0
  } else {
    return where(a < zero, zero, a);
  }
}
template <Number T>
SPYRE_INLINE T abs(T x) {
  return lane(abs(splat(x)), 0);
}
template <Float T>
SPYRE_INLINE T copysign(T magnitude, T sign) {
  return lane(copysign(splat(magnitude), splat(sign)), 0);
}
template <Number T>
SPYRE_INLINE bool signbit(T x) {
  return bitcast<SignedOf<T>>(x) < 0;
}
template <Number T>
SPYRE_INLINE T sign(T x) {
  return T((x > T(0)) - (x < T(0)));
}
template <Number T>
SPYRE_INLINE T relu(T x) {
  return x < T(0) ? T(0) : x;
}

// --- classes of floats ---------------------------------------------------------------------------
template <class T, int N>
SPYRE_INLINE Mask isnan(const Pack<T, N>& a) {
  return a != a;
}
template <class T, int N>
SPYRE_INLINE Mask isinf(const Pack<T, N>& a) {
  if constexpr (kIsFloat<T>) {
    return abs(a) == splat_pack<T, N>(T(kInf32));
  } else {
    return splat(false);
  }
}
template <Number T>
SPYRE_INLINE bool isnan(T x) {
  return x != x;
}
template <Number T>
SPYRE_INLINE bool isinf(T x) {
  return kIsFloat<T> && (x == T(kInf32) || x == T(-kInf32));
}

// --- rounding; integers are whole already --------------------------------------------------------
#define SPYRE_ROUNDING(NAME, MODE)                    \
  template <class T, int N>                           \
  SPYRE_INLINE Pack<T, N> NAME(const Pack<T, N>& a) { \
    if constexpr (kIsFloat<T>) {                      \
      return MODE(a);                                 \
    } else {                                          \
      return a;                                       \
    }                                                 \
  }                                                   \
  template <Number T>                                 \
  SPYRE_INLINE T NAME(T x) {                          \
    return lane(NAME(splat(x)), 0);                   \
  }
SPYRE_ROUNDING(round, round_even)
SPYRE_ROUNDING(floor, round_down)
SPYRE_ROUNDING(ceil, round_up)
SPYRE_ROUNDING(trunc, round_to_zero)
#undef SPYRE_ROUNDING

template <class V>
SPYRE_INLINE V square(const V& x) {
  return x * x;
}
template <class T, int N>
SPYRE_INLINE Pack<T, N> reciprocal(const Pack<T, N>& x) {
  return splat_pack<T, N>(T(1)) / x;
}
template <Float T>
SPYRE_INLINE T reciprocal(T x) {
  return T(1) / x;
}
template <Float T>
SPYRE_INLINE T sqrt(T x) {
  return lane(sqrt(splat(x)), 0);
}
template <class T, int N>
SPYRE_INLINE Pack<T, N> rsqrt(const Pack<T, N>& x) {
  return splat_pack<T, N>(T(1)) / sqrt(x);
}
template <Float T>
SPYRE_INLINE T rsqrt(T x) {
  return T(1) / sqrt(x);
}
template <Float T>
SPYRE_INLINE T fma(T a, T b, T c) {
  return lane(fma(splat(a), splat(b), splat(c)), 0);
}

// x / total for 0 <= x <= total, a sum of such x: 1.5 ulp, and right wherever division is special.
// Scaling keeps the inverse of a total near the ends of the exponents' range a normal number.
SPYRE_INLINE f32v share_of(const f32v& x, f32 total) {
  const f32 scale = total > 0x1p120f ? 0x1p-64f : total < 0x1p-100f ? 0x1p64f : 1.0f;
  return x * splat(scale) * splat(1.0f / (total * scale));
}

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_ARITHMETIC_H_
