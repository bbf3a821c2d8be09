// Stores that pass the caches by, for outputs that no cache will hold: 1.3 to 1.5 times the speed.
#ifndef SPYRE_KERNELS_STREAM_H_
#define SPYRE_KERNELS_STREAM_H_

#include "spyre_kernels/memory.h"

namespace spyre::kernels {

template <class T, int N>
SPYRE_INLINE void stream_pack(T* p, const Pack<T, N>& a) {
  constexpr int kBytes = N * sizeof(T);
  if constexpr (kBytes > kRegisterBytes) {
    stream_pack(p, a.lo);
    stream_pack(p + N / 2, a.hi);
#if defined(SPYRE_AVX512)
  } else if constexpr (kBytes == 64) {
    __builtin_ia32_movntps512((f32*)p, (Register<f32, 16>::type)a.v);
#endif
#if defined(SPYRE_AVX2)
  } else if constexpr (kBytes == 32) {
    __builtin_ia32_movntps256((f32*)p, (Register<f32, 8>::type)a.v);
#endif
  } else {
#if defined(SPYRE_SSE2)
    __builtin_ia32_movntps((f32*)p, (Register<f32, 4>::type)a.v);
#else
    to_array(p, a);
#endif
  }
}

// As store; needs the alignment of a register, and stores plainly without it.
template <class M>
SPYRE_INLINE void stream(Full lanes, M* p, const LanesFor<M>& value) {
  if (__builtin_expect(((u64)p & 63) == 0 || (sizeof(M) < 4 && ((u64)p & 31) == 0), 1)) {
    stream_pack((RawOf<M>*)p, narrow<M>(value));
  } else {
    store(lanes, p, value);
  }
}
template <class M>
SPYRE_INLINE void stream(Tail lanes, M* p, const LanesFor<M>& value) {
  if (lanes.bits == Full::bits) return stream(Full{}, p, value);
  store(lanes, p, value);
}
// Orders streamed stores before whatever tells others that the kernel has ended.
SPYRE_INLINE void stream_fence() {
#if defined(SPYRE_SSE2)
  __builtin_ia32_sfence();
#endif
}

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_STREAM_H_
