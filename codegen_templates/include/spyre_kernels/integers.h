// Division, modulo and shifts of integers, on lanes and on scalars.
//
// Integers wrap at their own width; division and modulo never trap: a zero divisor gives 0, as in
// TorchInductor's C++ kernels.
#ifndef SPYRE_KERNELS_INTEGERS_H_
#define SPYRE_KERNELS_INTEGERS_H_

#include "spyre_kernels/arithmetic.h"

namespace spyre::kernels {

// --- integer division ----------------------------------------------------------------------------
template <Integer T>
SPYRE_INLINE T truncdiv(T a, T b) {
  if (b == T(0)) return T(0);
  if (kIsSigned<T> && b == T(-1)) return T(UnsignedOf<T>(0) - UnsignedOf<T>(a));  // MIN / -1 wraps
  return T(a / b);
}
template <Integer T>
SPYRE_INLINE T c_mod(T a, T b) {
  if (b == T(0) || (kIsSigned<T> && b == T(-1))) return T(0);
  return T(a % b);
}
template <Integer T>
SPYRE_INLINE T floordiv(T a, T b) {
  const T q = truncdiv(a, b), r = c_mod(a, b);
  return T(q - (r != T(0) && (r < T(0)) != (b < T(0))));
}
template <Integer T>
SPYRE_INLINE T remainder(T a, T b) {
  const T r = c_mod(a, b);
  return r != T(0) && (r < T(0)) != (b < T(0)) ? T(r + b) : r;
}
template <Integer T>
SPYRE_INLINE Vec<T> truncdiv(const Vec<T>& a, const Vec<T>& b) {
  return each_lane<T>([](T x, T y) { return truncdiv(x, y); }, a, b);
}
template <Integer T>
SPYRE_INLINE Vec<T> c_mod(const Vec<T>& a, const Vec<T>& b) {
  return each_lane<T>([](T x, T y) { return c_mod(x, y); }, a, b);
}
template <Integer T>
SPYRE_INLINE Vec<T> floordiv(const Vec<T>& a, const Vec<T>& b) {
  return each_lane<T>([](T x, T y) { return floordiv(x, y); }, a, b);
}
template <Integer T>
SPYRE_INLINE Vec<T> remainder(const Vec<T>& a, const Vec<T>& b) {
  return each_lane<T>([](T x, T y) { return remainder(x, y); }, a, b);
}

// Its other name.
template <Integer T>
SPYRE_INLINE T fmod(T a, T b) {
  return c_mod(a, b);
}
template <Integer T>
SPYRE_INLINE Vec<T> fmod(const Vec<T>& a, const Vec<T>& b) {
  return c_mod(a, b);
}

// --- shifts: out-of-range counts as in TorchInductor's C++ kernels -------------------------------
template <Integer T>
SPYRE_INLINE T shift_left(T a, T count) {
  constexpr int kBits = 8 * sizeof(T);
  if (SignedOf<T>(count) < 0 || UnsignedOf<T>(count) >= kBits) return T(0);
  return T(UnsignedOf<T>(a) << count);
}
template <Integer T>
SPYRE_INLINE T shift_right(T a, T count) {
  constexpr int kMost = 8 * sizeof(T) - kIsSigned<T>;
  if (SignedOf<T>(count) < 0 || UnsignedOf<T>(count) >= kMost) {
    return kIsSigned<T> ? T(a >> kMost) : T(0);
  }
  return T(a >> count);
}
template <Integer T>
SPYRE_INLINE Vec<T> shift_left(const Vec<T>& a, const Vec<T>& count) {
  using U = UnsignedOf<T>;
  const Vec<U> n = bitcast<U>(count), limit = splat<U>(8 * sizeof(T));
  const Mask in_range = n < limit;
  return where(in_range, bitcast<T>(bitcast<U>(a) << where(in_range, n, splat<U>(0))), splat<T>(0));
}
template <Integer T>
SPYRE_INLINE Vec<T> shift_right(const Vec<T>& a, const Vec<T>& count) {
  using U = UnsignedOf<T>;
  constexpr U kMost = 8 * sizeof(T) - kIsSigned<T>;
  const Vec<U> n = bitcast<U>(count), limit = splat<U>(kMost);
  const Mask in_range = n < limit;
  if constexpr (kIsSigned<T>) {
    return a >> bitcast<T>(where(in_range, n, limit));
  } else {
    return where(in_range, a >> where(in_range, n, splat<U>(0)), splat<T>(0));
  }
}

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_INTEGERS_H_
