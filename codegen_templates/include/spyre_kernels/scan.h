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

// The lanes of a step follow one another.
template <class Op, class T>
struct ScanAcross {
  using Wide = typename RunningType<Op, T>::type;
  Wide running = Op::template identity<Wide>;

  template <class L>
  SPYRE_INLINE auto next(L lanes, const typename LanesOf<T>::type& x) {
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
