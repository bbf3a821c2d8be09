// Accumulators of a reduction.
//
// Along<Op, V>: every step is a later point of the reduction (lanes, if any, are other results).
// Across<Op, T>: the lanes of a step are themselves points of the reduction; kParts independent
// partial results are kept and combined once at the end. Lanes that do not exist count as the
// identity.
#ifndef SPYRE_KERNELS_REDUCE_H_
#define SPYRE_KERNELS_REDUCE_H_

#include "spyre_kernels/arithmetic.h"
#include "spyre_kernels/loops.h"

namespace spyre::kernels {

template <class T>
inline constexpr T kLowest = kIsFloat<T>    ? T(-kInf32)
                             : kIsSigned<T> ? T(UnsignedOf<T>(1) << (8 * sizeof(T) - 1))
                                            : T(0);
template <>
inline constexpr bool kLowest<bool> = false;
template <class T>
constexpr T highest() {
  if constexpr (kIsFloat<T>) {
    return T(kInf32);
  } else {
    return T(~kLowest<T>);
  }
}
template <class T>
inline constexpr T kHighest = highest<T>();
template <>
inline constexpr bool kHighest<bool> = true;

struct Sum {
  template <class T>
  static constexpr T identity = T(0);
  template <class V>
  static SPYRE_INLINE V combine(const V& a, const V& b) {
    return V(a + b);
  }
};
struct Product {
  template <class T>
  static constexpr T identity = T(1);
  template <class V>
  static SPYRE_INLINE V combine(const V& a, const V& b) {
    return V(a * b);
  }
};
struct Maximum {
  template <class T>
  static constexpr T identity = kLowest<T>;
  template <class V>
  static SPYRE_INLINE V combine(const V& a, const V& b) {
    return maximum(a, b);
  }
};
struct Minimum {
  template <class T>
  static constexpr T identity = kHighest<T>;
  template <class V>
  static SPYRE_INLINE V combine(const V& a, const V& b) {
    return minimum(a, b);
  }
};
struct Any {
  template <class T>
  static constexpr T identity = T(0);
  template <class V>
  static SPYRE_INLINE V combine(const V& a, const V& b) {
    return a | b;
  }
};
struct XorSum {
  template <class T>
  static constexpr T identity = T(0);
  template <class V>
  static SPYRE_INLINE V combine(const V& a, const V& b) {
    return V(a ^ b);
  }
};

template <class V>
SPYRE_INLINE V all_lanes(typename ScalarOf<V>::type x) {
  if constexpr (__is_same(V, typename ScalarOf<V>::type)) {
    return x;
  } else {
    return splat(x);
  }
}

template <class Op, class V>
struct Along {
  V value = all_lanes<V>(Op::template identity<typename ScalarOf<V>::type>);

  SPYRE_INLINE void add(const V& x) { value = Op::combine(value, x); }
  SPYRE_INLINE void join(const Along& other) { add(other.value); }
  SPYRE_INLINE V result() const { return value; }
};

// Combines all lanes, always in the same order.
template <class Op, class V>
SPYRE_INLINE typename ScalarOf<V>::type fold(V a) {
  a = Op::combine(a, exchange<8>(a));
  a = Op::combine(a, exchange<4>(a));
  a = Op::combine(a, exchange<2>(a));
  a = Op::combine(a, exchange<1>(a));
  return lane(a, 0);
}

template <class Op, class T>
struct Across {
  using V = typename LanesOf<T>::type;
  V parts[kParts] = {splat(Op::template identity<T>), splat(Op::template identity<T>),
                     splat(Op::template identity<T>), splat(Op::template identity<T>)};

  SPYRE_INLINE void add(Full, int i, const V& x) { parts[i] = Op::combine(parts[i], x); }
  SPYRE_INLINE void add(Tail lanes, int i, const V& x) {
    parts[i] = Op::combine(parts[i], existing(lanes, x, splat(Op::template identity<T>)));
  }
  SPYRE_INLINE V in_lanes() const {
    return Op::combine(Op::combine(parts[0], parts[1]), Op::combine(parts[2], parts[3]));
  }
  SPYRE_INLINE T result() const { return fold<Op>(in_lanes()); }
};

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_REDUCE_H_
