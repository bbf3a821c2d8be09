// Reading across the rows of a matrix: blocks that are read along their rows and turned in
// registers.
//
// Lanes side by side in the result lie a stride apart in memory. Taking one lane from each row
// would touch a cache line per number; here each line is read once for all rows of a group.
#ifndef SPYRE_KERNELS_TRANSPOSE_H_
#define SPYRE_KERNELS_TRANSPOSE_H_

#include "spyre_kernels/loops.h"

namespace spyre::kernels {

// Lane i is a[i] where bit kDistance of i is clear, else b[i - kDistance]; and what that leaves.
template <int kDistance, class V, int... i>
SPYRE_INLINE V even_blocks(V a, V b, Indices<i...>) {
  return __builtin_shufflevector(a, b, ((i & kDistance) != 0 ? i - kDistance + kLanes : i)...);
}
template <int kDistance, class V, int... i>
SPYRE_INLINE V odd_blocks(V a, V b, Indices<i...>) {
  return __builtin_shufflevector(a, b, ((i & kDistance) != 0 ? i + kLanes : i + kDistance)...);
}
template <int kDistance, class V>
SPYRE_INLINE void exchange_blocks(V* rows) {
  using All = Indices<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>;
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    if ((i & kDistance) != 0) continue;
    const V a = rows[i], b = rows[i + kDistance];
    rows[i] = even_blocks<kDistance>(a, b, All{});
    rows[i + kDistance] = odd_blocks<kDistance>(a, b, All{});
  }
}
// 16 x 16: block[r][k] = p[k * stride + r].
template <class T>
SPYRE_INLINE void turn_block(T* block, const T* p, i64 stride) {
  typename Register<T, kLanes>::type rows[kLanes];
#pragma GCC unroll 16
  for (int k = 0; k < kLanes; ++k) __builtin_memcpy(&rows[k], p + k * stride, sizeof(rows[k]));
  exchange_blocks<1>(rows);
  exchange_blocks<2>(rows);
  exchange_blocks<4>(rows);
  exchange_blocks<8>(rows);
#pragma GCC unroll 16
  for (int r = 0; r < kLanes; ++r) __builtin_memcpy(block + r * kLanes, &rows[r], sizeof(rows[r]));
}

// tile[r][k] = p[k * stride + r] for k < lanes, r < rows <= kRunGroup.
template <class M>
__attribute__((noinline)) static void read_across(M* tile, const M* p, i64 stride, int lanes,
                                                  i64 rows) {
  using Raw = RawOf<M>;
  Raw* const to = (Raw*)tile;
  const Raw* const from = (const Raw*)p;
  i64 done = 0;
  if constexpr (kLanes * sizeof(Raw) <= kRegisterBytes) {
    if (lanes == kLanes) {
      for (; done + kLanes <= rows; done += kLanes) {
        turn_block(to + done * kLanes, from + done, stride);
      }
    }
  }
  if (done == rows) return;
  for (i64 k = 0; k < lanes; ++k) {
    for (i64 r = done; r < rows; ++r) to[r * kLanes + k] = from[k * stride + r];
  }
}

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_TRANSPOSE_H_
