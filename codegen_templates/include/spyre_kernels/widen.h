// Memory type <-> compute lanes: bool and plain numbers here; small floats have headers of their
// own (bfloat16.h, float16.h, float8.h).
#ifndef SPYRE_KERNELS_WIDEN_H_
#define SPYRE_KERNELS_WIDEN_H_

#include "spyre_kernels/vector.h"

namespace spyre::kernels {

// The bits of a memory type, and the type it is computed in.
template <class M>
struct Memory {
  using Raw = M;
  using Scalar = M;
};
template <>
struct Memory<bool8> {
  using Raw = u8;
  using Scalar = bool;
};

// --- one spelling for every memory type ----------------------------------------------------------
template <class M>
SPYRE_INLINE auto widen(const Vec<typename Memory<M>::Raw>& raw) {
  if constexpr (__is_same(M, bool8)) {
    return to_mask(raw);
  } else if constexpr (__is_same(M, typename Memory<M>::Raw)) {
    return raw;
  } else {
    return Memory<M>::widen(raw);
  }
}
template <class M>
SPYRE_INLINE Vec<typename Memory<M>::Raw> narrow(
    const typename LanesOf<typename Memory<M>::Scalar>::type& value) {
  if constexpr (__is_same(M, bool8)) {
    return convert<u8>(value);
  } else if constexpr (__is_same(M, typename Memory<M>::Raw)) {
    return value;
  } else {
    return Memory<M>::narrow(value);
  }
}

// The value after a trip through memory type M: what a rounding cast gives.
template <class M>
SPYRE_INLINE f32v round_to(const f32v& x) {
  if constexpr (requires { Memory<M>::round(x); }) {
    return Memory<M>::round(x);
  } else {
    return widen<M>(narrow<M>(x));
  }
}
template <class M>
SPYRE_INLINE f32 round_to(f32 x) {
  return lane(round_to<M>(splat(x)), 0);
}

// The bits of a value in memory type From, taken as memory type To of the same size.
template <class From, class To, class V>
SPYRE_INLINE auto reinterpret(const V& x) {
  if constexpr (__is_same(V, typename ScalarOf<V>::type)) {
    return lane(reinterpret<From, To>(splat(x)), 0);
  } else {
    return widen<To>(bitcast<typename Memory<To>::Raw>(narrow<From>(x)));
  }
}

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_WIDEN_H_
