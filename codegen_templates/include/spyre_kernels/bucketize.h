// Position of a value in sorted boundaries, as at::searchsorted: a NaN value comes last.
#ifndef SPYRE_KERNELS_BUCKETIZE_H_
#define SPYRE_KERNELS_BUCKETIZE_H_

#include "spyre_kernels/memory.h"

namespace spyre::kernels {

// Boundaries stand at `first + stride * position`, taken in the order of `sorter` if there is one.
template <class M, class S = i64>
struct Boundaries {
  const M* values;
  i64 count, stride;
  const S* sorter = nullptr;
  i64 sorter_stride = 0;

  SPYRE_INLINE ScalarFor<M> at(i64 first, i64 sorter_first, i64 i) const {
    const i64 position = sorter == nullptr ? i : i64(sorter[sorter_first + i * sorter_stride]);
    return load(values + first + position * stride);
  }
};

template <bool kRight, class T, class B>
SPYRE_INLINE i64 search(T value, const B& boundaries, i64 first, i64 sorter_first) {
  i64 low = 0, high = boundaries.count;
  while (low < high) {
    const i64 middle = low + (high - low) / 2;
    const T boundary = T(boundaries.at(first, sorter_first, middle));
    if (kRight ? !(boundary > value) : !(boundary >= value)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}
template <class R, bool kRight, class T, class B>
  requires(__is_same(T, typename ScalarOf<T>::type))
SPYRE_INLINE R bucketize(T value, const B& boundaries, i64 first, i64 sorter_first = 0) {
  return R(search<kRight>(value, boundaries, first, sorter_first));
}
// Lanes that do not exist search for what their registers hold: any position is in range.
template <class R, bool kRight, class T, class B>
SPYRE_INLINE Vec<R> bucketize(const Vec<T>& value, const B& boundaries, const i64v& first,
                              const i64v& sorter_first, u32 bits) {
  const auto v = as_array(value);
  const auto f = as_array(first), s = as_array(sorter_first);
  R r[kLanes] = {};
  for (int k = 0; k < kLanes; ++k)
    if (bits >> k & 1) r[k] = R(search<kRight>(v[k], boundaries, f[k], s[k]));
  return from_array(r);
}

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_BUCKETIZE_H_
