// Lane-wise arithmetic, comparison, selection and bits of Vec and Mask.
#ifndef SPYRE_KERNELS_VECTOR_H_
#define SPYRE_KERNELS_VECTOR_H_

#include "spyre_kernels/types.h"

namespace spyre::kernels {

// --- making and taking apart ---------------------------------------------------------------------
template <class T, int N>
SPYRE_INLINE Pack<T, N> splat_pack(T x) {
  if constexpr (N * sizeof(T) <= kRegisterBytes) {
    // `x - 0` and not `0 + x`: it keeps -0 and folds to one broadcast.
    return {x - typename Register<T, N>::type{}};
  } else {
    const Pack<T, N / 2> half = splat_pack<T, N / 2>(x);
    return {half, half};
  }
}
template <class T>
SPYRE_INLINE Vec<T> splat(T x) {
  if constexpr (kLanes * sizeof(T) <= kRegisterBytes) {
    return {x - typename Register<T, kLanes>::type{}};
  } else {
    return splat_pack<T, kLanes>(x);
  }
}
SPYRE_INLINE Mask splat(bool x) { return {splat<i32>(x ? -1 : 0)}; }

template <class T, int N>
SPYRE_INLINE T lane(const Pack<T, N>& a, int i) {
  if constexpr (N * sizeof(T) <= kRegisterBytes) {
    return a.v[i];
  } else {
    return i < N / 2 ? lane(a.lo, i) : lane(a.hi, i - N / 2);
  }
}
SPYRE_INLINE bool lane(const Mask& a, int i) { return lane(a.bits, i) != 0; }

template <class T, int N = kLanes>
SPYRE_INLINE Pack<T, N> from_array(const T* p) {
  Pack<T, N> a;
  if constexpr (N * sizeof(T) <= kRegisterBytes) {
    __builtin_memcpy(&a.v, p, sizeof(a.v));
  } else {
    a.lo = from_array<T, N / 2>(p);
    a.hi = from_array<T, N / 2>(p + N / 2);
  }
  return a;
}
template <class T, int N>
SPYRE_INLINE void to_array(T* p, const Pack<T, N>& a) {
  if constexpr (N * sizeof(T) <= kRegisterBytes) {
    __builtin_memcpy(p, &a.v, sizeof(a.v));
  } else {
    to_array(p, a.lo);
    to_array(p + N / 2, a.hi);
  }
}

template <class T>
SPYRE_INLINE Vec<T> lane_numbers() {
  constexpr T kNumbers[kLanes] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return from_array<T>(kNumbers);
}

// --- applying a function to every lane ----------------------------------------------------------
// One function per lane, for what has no vector form.
template <class R, class T, class F>
SPYRE_INLINE Vec<R> each_lane(F f, const Vec<T>& a) {
  T x[kLanes];
  R r[kLanes];
  to_array(x, a);
  for (int i = 0; i < kLanes; ++i) r[i] = f(x[i]);
  return from_array<R>(r);
}
template <class R, class T, class U, class F>
SPYRE_INLINE Vec<R> each_lane(F f, const Vec<T>& a, const Vec<U>& b) {
  T x[kLanes];
  U y[kLanes];
  R r[kLanes];
  to_array(x, a);
  to_array(y, b);
  for (int i = 0; i < kLanes; ++i) r[i] = f(x[i], y[i]);
  return from_array<R>(r);
}

// --- conversion between element types ------------------------------------------------------------
template <class T, int N>
SPYRE_INLINE Pack<T, N / 2> low_half(const Pack<T, N>& a) {
  if constexpr (N * sizeof(T) > kRegisterBytes) {
    return a.lo;
  } else if constexpr (N == 16) {
    return {__builtin_shufflevector(a.v, a.v, 0, 1, 2, 3, 4, 5, 6, 7)};
  } else if constexpr (N == 8) {
    return {__builtin_shufflevector(a.v, a.v, 0, 1, 2, 3)};
  } else {
    return {__builtin_shufflevector(a.v, a.v, 0, 1)};
  }
}
template <class T, int N>
SPYRE_INLINE Pack<T, N / 2> high_half(const Pack<T, N>& a) {
  if constexpr (N * sizeof(T) > kRegisterBytes) {
    return a.hi;
  } else if constexpr (N == 16) {
    return {__builtin_shufflevector(a.v, a.v, 8, 9, 10, 11, 12, 13, 14, 15)};
  } else if constexpr (N == 8) {
    return {__builtin_shufflevector(a.v, a.v, 4, 5, 6, 7)};
  } else {
    return {__builtin_shufflevector(a.v, a.v, 2, 3)};
  }
}
template <class T, int N>
SPYRE_INLINE Pack<T, N * 2> join(const Pack<T, N>& lo, const Pack<T, N>& hi) {
  if constexpr (2 * N * sizeof(T) > kRegisterBytes) {
    return {lo, hi};
  } else if constexpr (N == 8) {
    return {
        __builtin_shufflevector(lo.v, hi.v, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)};
  } else if constexpr (N == 4) {
    return {__builtin_shufflevector(lo.v, hi.v, 0, 1, 2, 3, 4, 5, 6, 7)};
  } else {
    return {__builtin_shufflevector(lo.v, hi.v, 0, 1, 2, 3)};
  }
}

template <class T, int N>
SPYRE_INLINE Mask to_mask(const Pack<T, N>& a);

// Value conversion as C++'s static_cast, with x86's answer where C++ has none.
template <class R, class T, int N>
SPYRE_INLINE Pack<R, N> convert_pack(const Pack<T, N>& a) {
  constexpr bool kBothFit = N * sizeof(T) <= kRegisterBytes && N * sizeof(R) <= kRegisterBytes;
  if constexpr (__is_same(R, T)) {
    return a;
  } else if constexpr (kBothFit) {
    return {__builtin_convertvector(a.v, typename Register<R, N>::type)};
  } else {
    return join(convert_pack<R>(low_half(a)), convert_pack<R>(high_half(a)));
  }
}
template <class R, class T>
SPYRE_INLINE typename LanesOf<R>::type convert(const Vec<T>& a) {
  if constexpr (__is_same(R, bool)) {
    return to_mask(a);
  } else if constexpr (kIsFloat<T> && !kIsFloat<R> && sizeof(R) < 4) {
    return convert_pack<R>(convert_pack<i32>(a));  // as cvttss2si, then wrap
  } else if constexpr (kIsFloat<T> && __is_same(R, u32)) {
    return convert_pack<R>(convert_pack<i64>(a));
  } else if constexpr (kIsFloat<T> && __is_same(R, u64)) {
    return each_lane<R>([](T x) { return x < T(0) ? R(i64(x)) : R(x); }, a);
  } else {
    return convert_pack<R>(a);
  }
}
template <class R, class T>
SPYRE_INLINE R convert(T x) {
  if constexpr (__is_same(R, bool)) {
    return x != T(0);
  } else if constexpr (kIsFloat<T> && !kIsFloat<R>) {
    return lane(convert<R>(splat(x)), 0);  // out-of-range values as in lanes
  } else {
    return R(x);
  }
}

// Lane i of the result is lane i ^ kDistance.
template <int... kIndex>
struct Indices {};
template <int kDistance, class V, int... kIndex>
SPYRE_INLINE V exchange_register(V v, Indices<kIndex...>) {
  return __builtin_shufflevector(v, v, (kIndex ^ kDistance)...);
}
template <int kDistance, class T, int N>
SPYRE_INLINE Pack<T, N> exchange(const Pack<T, N>& a) {
  if constexpr (N * sizeof(T) > kRegisterBytes) {
    if constexpr (kDistance == N / 2) {
      return {a.hi, a.lo};
    } else {
      return {exchange<kDistance>(a.lo), exchange<kDistance>(a.hi)};
    }
  } else if constexpr (N == 16) {
    return {exchange_register<kDistance>(
        a.v, Indices<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>{})};
  } else if constexpr (N == 8) {
    return {exchange_register<kDistance>(a.v, Indices<0, 1, 2, 3, 4, 5, 6, 7>{})};
  } else if constexpr (N == 4) {
    return {exchange_register<kDistance>(a.v, Indices<0, 1, 2, 3>{})};
  } else {
    return {exchange_register<kDistance>(a.v, Indices<0, 1>{})};
  }
}

// --- masks ---------------------------------------------------------------------------------------
template <class T>
SPYRE_INLINE Mask mask_of(const Vec<T>& all_ones_or_zero) {
  return {convert_pack<i32>(all_ones_or_zero)};
}
// Macros and not one generic `map`: every function instance costs the compiler time.
#define SPYRE_COMPARE(NAME, OP)                                                       \
  template <class T, int N>                                                           \
  SPYRE_INLINE Pack<SignedOf<T>, N> NAME(const Pack<T, N>& a, const Pack<T, N>& b) {  \
    if constexpr (N * sizeof(T) <= kRegisterBytes) {                                  \
      return {(typename Register<SignedOf<T>, N>::type)(a.v OP b.v)};                 \
    } else {                                                                          \
      return {NAME(a.lo, b.lo), NAME(a.hi, b.hi)};                                    \
    }                                                                                 \
  }                                                                                   \
  template <class T>                                                                  \
  SPYRE_INLINE Mask operator OP(const Pack<T, kLanes>& a, const Pack<T, kLanes>& b) { \
    if constexpr (sizeof(T) == 4) {                                                   \
      return Mask{NAME(a, b)};                                                        \
    } else {                                                                          \
      return mask_of(NAME(a, b));                                                     \
    }                                                                                 \
  }
SPYRE_COMPARE(lanes_lt, <)
SPYRE_COMPARE(lanes_le, <=)
SPYRE_COMPARE(lanes_gt, >)
SPYRE_COMPARE(lanes_ge, >=)
SPYRE_COMPARE(lanes_eq, ==)
SPYRE_COMPARE(lanes_ne, !=)
#undef SPYRE_COMPARE

template <class T, int N>
SPYRE_INLINE Pack<T, N> select_pack(const Pack<SignedOf<T>, N>& m, const Pack<T, N>& a,
                                    const Pack<T, N>& b) {
  if constexpr (N * sizeof(T) <= kRegisterBytes) {
    return {m.v ? a.v : b.v};
  } else {
    return {select_pack(m.lo, a.lo, b.lo), select_pack(m.hi, a.hi, b.hi)};
  }
}
template <class T, int N>
SPYRE_INLINE Pack<T, N> where(const Mask& m, const Pack<T, N>& a, const Pack<T, N>& b) {
  if constexpr (sizeof(T) == 4) {
    return select_pack<T, N>(m.bits, a, b);
  } else {
    return select_pack<T, N>(convert_pack<SignedOf<T>>(m.bits), a, b);
  }
}
template <class T>
SPYRE_INLINE T where(bool m, const T& a, const T& b) {
  return m ? a : b;
}

// --- arithmetic ----------------------------------------------------------------------------------
#define SPYRE_BINARY(OP)                                                          \
  template <class T, int N>                                                       \
  SPYRE_INLINE Pack<T, N> operator OP(const Pack<T, N>& a, const Pack<T, N>& b) { \
    if constexpr (N * sizeof(T) <= kRegisterBytes) {                              \
      return {a.v OP b.v};                                                        \
    } else {                                                                      \
      return {a.lo OP b.lo, a.hi OP b.hi};                                        \
    }                                                                             \
  }
SPYRE_BINARY(+)
SPYRE_BINARY(-)
SPYRE_BINARY(*)
SPYRE_BINARY(/)
SPYRE_BINARY(&)
SPYRE_BINARY(|)
SPYRE_BINARY(^)
SPYRE_BINARY(<<)
SPYRE_BINARY(>>)
#undef SPYRE_BINARY
#define SPYRE_UNARY(OP)                                      \
  template <class T, int N>                                  \
  SPYRE_INLINE Pack<T, N> operator OP(const Pack<T, N>& a) { \
    if constexpr (N * sizeof(T) <= kRegisterBytes) {         \
      return {OP a.v};                                       \
    } else {                                                 \
      return {OP a.lo, OP a.hi};                             \
    }                                                        \
  }
SPYRE_UNARY(-)
SPYRE_UNARY(~)
#undef SPYRE_UNARY

SPYRE_INLINE Mask operator&(const Mask& a, const Mask& b) { return {a.bits & b.bits}; }
SPYRE_INLINE Mask operator|(const Mask& a, const Mask& b) { return {a.bits | b.bits}; }
SPYRE_INLINE Mask operator^(const Mask& a, const Mask& b) { return {a.bits ^ b.bits}; }
SPYRE_INLINE Mask operator~(const Mask& a) { return {~a.bits}; }
SPYRE_INLINE Mask operator==(const Mask& a, const Mask& b) { return ~(a ^ b); }
SPYRE_INLINE Mask operator!=(const Mask& a, const Mask& b) { return a ^ b; }
SPYRE_INLINE Mask operator<(const Mask& a, const Mask& b) { return ~a & b; }
SPYRE_INLINE Mask operator<=(const Mask& a, const Mask& b) { return ~a | b; }
SPYRE_INLINE Mask operator>(const Mask& a, const Mask& b) { return a & ~b; }
SPYRE_INLINE Mask operator>=(const Mask& a, const Mask& b) { return a | ~b; }
SPYRE_INLINE Mask where(const Mask& m, const Mask& a, const Mask& b) { return (m & a) | (~m & b); }

template <class R>
SPYRE_INLINE typename LanesOf<R>::type convert(const Mask& m) {
  if constexpr (__is_same(R, bool)) {
    return m;
  } else {
    return convert<R>(m.bits & splat<i32>(1));
  }
}
// != 0; a NaN is true.
template <class T, int N>
SPYRE_INLINE Mask to_mask(const Pack<T, N>& a) {
  return a != splat<T>(T(0));
}
SPYRE_INLINE Mask to_mask(const Mask& a) { return a; }
template <int kDistance>
SPYRE_INLINE Mask exchange(const Mask& m) {
  return {exchange<kDistance>(m.bits)};
}
template <class T>
SPYRE_INLINE bool to_bool(T x) {
  return x != T(0);
}

// Bit patterns.
template <class R, class T, int N>
SPYRE_INLINE Pack<R, N> bitcast(const Pack<T, N>& a) {
  static_assert(sizeof(R) == sizeof(T));
  return __builtin_bit_cast(Pack<R, N>, a);
}
template <class R, class T>
  requires(sizeof(R) == sizeof(T) && __is_trivially_copyable(T))
SPYRE_INLINE R bitcast(T x) {
  return __builtin_bit_cast(R, x);
}

SPYRE_INLINE bool any_lane(const Mask& m) {
#if defined(SPYRE_AVX512)
  return __builtin_ia32_cvtd2mask512((Register<i32, 16>::type)m.bits.v) != 0;
#else
  i32 x[kLanes], any = 0;
  to_array(x, m.bits);
  for (int i = 0; i < kLanes; ++i) any |= x[i];
  return any != 0;
#endif
}

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_VECTOR_H_
