// Additions to one element from several cores or lanes; duplicates within a step add up.
#ifndef SPYRE_KERNELS_ATOMIC_H_
#define SPYRE_KERNELS_ATOMIC_H_

#include "spyre_kernels/memory.h"

namespace spyre::kernels {

template <class M>
SPYRE_INLINE void atomic_add(M* p, ScalarFor<M> value) {
  if constexpr (__is_same(M, bool8)) {
    if (value) __atomic_store_n(&p->bits, u8(1), __ATOMIC_RELAXED);
  } else if constexpr (__is_same(M, RawOf<M>) && !kIsFloat<M>) {
    __atomic_fetch_add(p, value, __ATOMIC_RELAXED);
  } else {
    using Bits = UnsignedOf<RawOf<M>>;
    Bits seen = __atomic_load_n((Bits*)p, __ATOMIC_RELAXED), wanted;
    do {
      const M old = __builtin_bit_cast(M, seen);
      M sum;
      store(&sum, load(&old) + value);
      wanted = __builtin_bit_cast(Bits, sum);
    } while (!__atomic_compare_exchange_n((Bits*)p, &seen, wanted, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
  }
}
template <class L, class M, class F>
SPYRE_INLINE void atomic_add(L lanes, M* p, F index, const LanesFor<M>& value) {
  if constexpr (__is_same(M, bool8)) {
    const u32 bits = bits_of(value);
    for (i64 k = 0; k < lanes.count; ++k) atomic_add(p + index(k), (bits >> k & 1) != 0);
  } else {
    const auto x = as_array(value);
    for (i64 k = 0; k < lanes.count; ++k) atomic_add(p + index(k), x[k]);
  }
}

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_ATOMIC_H_
