// Running results along the reduction axis, in order. Sums and products of float32 run in float64,
// as CPU eager's cumsum and cumprod do.
#ifndef SPYRE_KERNELS_SCAN_H_
#define SPYRE_KERNELS_SCAN_H_

#include "spyre_kernels/reduce.h"

namespace spyre::kernels {

template <class Op, class T>
struct RunningType {
  using type = T;
};
template <>
struct RunningType<Sum, f32> {
  using type = f64;
};
template <>
struct RunningType<Product, f32> {
  using type = f64;
};

// Every step is the next point of each lane.
template <class Op, class V>
struct ScanAlong {
  using T = typename ScalarOf<V>::type;
  using Wide = typename RunningType<Op, T>::type;
  using W = decltype(convert<Wide>(V{}));
  W running = all_lanes<W>(Op::template identity<Wide>);

  SPYRE_INLINE V next(const V& x) {
    running = Op::combine(running, convert<Wide>(x));
    return convert<T>(running);
  }
};

// Lane i of the result is the sum of lanes 0 to i.
template <class T, int N, int... kIndex>
SPYRE_INLINE Pack<T, N> add_shifted(const Pack<T, N>& a, Indices<kIndex...>) {
  const typename Register<T, N>::type zero{};
  return {a.v + __builtin_shufflevector(zero, a.v, kIndex...)};
}
template <class T, int N>
SPYRE_INLINE Pack<T, N> prefix_sum(Pack<T, N> a) {
  if constexpr (N * sizeof(T) > kRegisterBytes) {
    const Pack<T, N / 2> lo = prefix_sum(a.lo), hi = prefix_sum(a.hi);
    return {lo, hi + splat_pack<T, N / 2>(lane(lo, N / 2 - 1))};
  } else if constexpr (N == 16) {
    a = add_shifted(a, Indices<0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30>{});
    a = add_shifted(a, Indices<0, 0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29>{});
    a = add_shifted(a, Indices<0, 0, 0, 0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27>{});
    return add_shifted(a, Indices<0, 0, 0, 0, 0, 0, 0, 0, 16, 17, 18, 19, 20, 21, 22, 23>{});
  } else if constexpr (N == 8) {
    a = add_shifted(a, Indices<0, 8, 9, 10, 11, 12, 13, 14>{});
    a = add_shifted(a, Indices<0, 0, 8, 9, 10, 11, 12, 13>{});
    return add_shifted(a, Indices<0, 0, 0, 0, 8, 9, 10, 11>{});
  } else if constexpr (N == 4) {
    a = add_shifted(a, Indices<0, 4, 5, 6>{});
    return add_shifted(a, Indices<0, 0, 4, 5>{});
  } else {
    return add_shifted(a, Indices<0, 2>{});
  }
}

// The lanes of a step follow one another.
template <class Op, class T>
struct ScanAcross {
  using Wide = typename RunningType<Op, T>::type;
  Wide running = Op::template identity<Wide>;

  template <class L>
  SPYRE_INLINE auto next(L lanes, const typename LanesOf<T>::type& x) {
    if constexpr (__is_same(Op, Sum) && !__is_same(T, bool)) {
      const Vec<Wide> local = prefix_sum(convert<Wide>(x));
      const Vec<Wide> sums = local + splat(running);
      running = Wide(running + last_lane(lanes, local));  // one addition from step to step
      return convert<T>(sums);
    } else {
      return one_by_one(lanes, x);
    }
  }
  template <class L>
  SPYRE_INLINE auto one_by_one(L lanes, const typename LanesOf<T>::type& x) {
    LaneArray<T> values = as_array(x);
    for (i64 k = 0; k < lanes.count; ++k) {
      running = Op::combine(running, Wide(values.x[k]));
      values.x[k] = T(running);
    }
    return from_lanes(values);
  }
};

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_SCAN_H_
