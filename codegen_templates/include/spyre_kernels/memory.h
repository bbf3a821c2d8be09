// Loads and stores of lanes and scalars, whole, partial, masked, strided and indirect.
//
// `lanes` says which lanes of a step exist: Full in the body of a loop, Tail{n} for its last n
// points. Lanes that do not exist, and lanes whose mask is off, are never read or written.
#ifndef SPYRE_KERNELS_MEMORY_H_
#define SPYRE_KERNELS_MEMORY_H_

#include "spyre_kernels/widen.h"

namespace spyre::kernels {

struct Full {
  static constexpr int count = kLanes;
  static constexpr u32 bits = 0xffff;
};
struct Tail {
  int count;
  u32 bits;
};

SPYRE_INLINE Mask mask_from_bits(u32 bits) {
#if defined(SPYRE_AVX512)
  return {__builtin_ia32_cvtmask2d512(u16(bits))};
#else
  return to_mask((splat<u32>(bits) >> lane_numbers<u32>()) & splat<u32>(1));
#endif
}
SPYRE_INLINE Mask active(Full) { return splat(true); }
SPYRE_INLINE Mask active(Tail lanes) { return mask_from_bits(lanes.bits); }

// Lanes that exist, and `other` in those that do not.
template <class V>
SPYRE_INLINE V existing(Full, const V& a, const V&) {
  return a;
}
template <class V>
SPYRE_INLINE V existing(Tail lanes, const V& a, const V& other) {
#if defined(SPYRE_AVX512)
  if constexpr (__is_same(V, f32v)) {
    return {__builtin_ia32_blendmps_512_mask(other.v, a.v, u16(lanes.bits))};
  }
#endif
  return where(active(lanes), a, other);
}

SPYRE_INLINE u32 bits_of(const Mask& m) {
#if defined(SPYRE_AVX512)
  return __builtin_ia32_cvtd2mask512(m.bits.v);
#else
  i32 x[kLanes];
  u32 bits = 0;
  to_array(x, m.bits);
  for (int i = 0; i < kLanes; ++i) bits |= u32(x[i] & 1) << i;
  return bits;
#endif
}

template <class T>
SPYRE_INLINE Vec<T> load_bits(u32 bits, const T* p) {
#if defined(SPYRE_AVX512)
  if constexpr (sizeof(T) == 1) {
    using R = Register<char, 16>::type;
    return {(typename Register<T, 16>::type)__builtin_ia32_loaddquqi128_mask((const char*)p, R{},
                                                                             u16(bits))};
  } else if constexpr (sizeof(T) == 2) {
    using R = Register<i16, 16>::type;
    return {(typename Register<T, 16>::type)__builtin_ia32_loaddquhi256_mask((const i16*)p, R{},
                                                                             u16(bits))};
  } else if constexpr (sizeof(T) == 4) {
    using R = Register<i32, 16>::type;
    return {(typename Register<T, 16>::type)__builtin_ia32_loaddqusi512_mask((const i32*)p, R{},
                                                                             u16(bits))};
  } else {
    using R = Register<i64, 8>::type;
    using P = typename Register<T, 8>::type;
    return {{(P)__builtin_ia32_loaddqudi512_mask((const i64*)p, R{}, u8(bits))},
            {(P)__builtin_ia32_loaddqudi512_mask((const i64*)p + 8, R{}, u8(bits >> 8))}};
  }
#else
  T x[kLanes] = {};
  for (int i = 0; i < kLanes; ++i)
    if (bits >> i & 1) x[i] = p[i];
  return from_array(x);
#endif
}
template <class T>
SPYRE_INLINE void store_bits(u32 bits, T* p, const Vec<T>& a) {
#if defined(SPYRE_AVX512)
  if constexpr (sizeof(T) == 1) {
    __builtin_ia32_storedquqi128_mask((char*)p, (Register<char, 16>::type)a.v, u16(bits));
  } else if constexpr (sizeof(T) == 2) {
    __builtin_ia32_storedquhi256_mask((i16*)p, (Register<i16, 16>::type)a.v, u16(bits));
  } else if constexpr (sizeof(T) == 4) {
    __builtin_ia32_storedqusi512_mask((i32*)p, (Register<i32, 16>::type)a.v, u16(bits));
  } else {
    using R = Register<i64, 8>::type;
    __builtin_ia32_storedqudi512_mask((i64*)p, (R)a.lo.v, u8(bits));
    __builtin_ia32_storedqudi512_mask((i64*)p + 8, (R)a.hi.v, u8(bits >> 8));
  }
#else
  T x[kLanes];
  to_array(x, a);
  for (int i = 0; i < kLanes; ++i)
    if (bits >> i & 1) p[i] = x[i];
#endif
}

template <class M>
using RawOf = typename Memory<M>::Raw;
template <class M>
using ScalarFor = typename Memory<M>::Scalar;
template <class M>
using LanesFor = typename LanesOf<ScalarFor<M>>::type;

// --- one element ---------------------------------------------------------------------------------
template <class M>
SPYRE_INLINE ScalarFor<M> load(const M* p) {
  if constexpr (__is_same(M, bool8)) {
    return p->bits != 0;
  } else if constexpr (__is_same(M, RawOf<M>)) {
    return *p;
  } else {
    return lane(widen<M>(splat<RawOf<M>>(p->bits)), 0);
  }
}
template <class M>
SPYRE_INLINE void store(M* p, ScalarFor<M> value) {
  if constexpr (__is_same(M, bool8)) {
    p->bits = value ? 1 : 0;
  } else if constexpr (__is_same(M, RawOf<M>)) {
    *p = value;
  } else {
    p->bits = lane(narrow<M>(splat(value)), 0);
  }
}

// --- lanes side by side in memory ----------------------------------------------------------------
template <class M>
SPYRE_INLINE LanesFor<M> load(Full, const M* p) {
  return widen<M>(from_array<RawOf<M>>((const RawOf<M>*)p));
}
template <class M>
SPYRE_INLINE LanesFor<M> load(Tail lanes, const M* p) {
  return widen<M>(load_bits<RawOf<M>>(lanes.bits, (const RawOf<M>*)p));
}
template <class L, class M>
SPYRE_INLINE LanesFor<M> load(L lanes, const M* p, const Mask& mask) {
  return widen<M>(load_bits<RawOf<M>>(lanes.bits & bits_of(mask), (const RawOf<M>*)p));
}
template <class M>
SPYRE_INLINE void store(Full, M* p, const LanesFor<M>& value) {
  to_array((RawOf<M>*)p, narrow<M>(value));
}
template <class M>
SPYRE_INLINE void store(Tail lanes, M* p, const LanesFor<M>& value) {
  store_bits<RawOf<M>>(lanes.bits, (RawOf<M>*)p, narrow<M>(value));
}

// --- lanes anywhere: `index(k)` is the element of lane k -----------------------------------------
template <class L, class M, class F>
SPYRE_INLINE LanesFor<M> gather(L lanes, const M* p, F index) {
  RawOf<M> x[kLanes] = {};
  for (i64 k = 0; k < lanes.count; ++k) x[k] = ((const RawOf<M>*)p)[index(k)];
  return widen<M>(from_array(x));
}
template <class L, class M, class F>
SPYRE_INLINE LanesFor<M> gather(L lanes, const M* p, F index, const Mask& mask) {
  RawOf<M> x[kLanes] = {};
  const u32 bits = lanes.bits & bits_of(mask);
  for (i64 k = 0; k < lanes.count; ++k)
    if (bits >> k & 1) x[k] = ((const RawOf<M>*)p)[index(k)];
  return widen<M>(from_array(x));
}
template <class L, class M, class F>
SPYRE_INLINE void scatter(L lanes, M* p, F index, const LanesFor<M>& value) {
  RawOf<M> x[kLanes];
  to_array(x, narrow<M>(value));
  for (i64 k = 0; k < lanes.count; ++k) ((RawOf<M>*)p)[index(k)] = x[k];
}

// Masked lanes are not read, so `p` itself may lie outside of the buffer.
template <class L, class M>
SPYRE_INLINE LanesFor<M> load_strided(L lanes, const M* p, i64 stride, const Mask& mask) {
#if defined(SPYRE_AVX512)
  if constexpr (sizeof(M) == 4) {
    if (stride == i64(i32(stride << 5) >> 5)) {  // 16 strides fit 32 bits
      const i32v offsets = lane_numbers<i32>() * splat<i32>(i32(stride));
      const u16 bits = u16(lanes.bits & bits_of(mask));
      return {(typename Register<M, 16>::type)__builtin_ia32_gathersiv16si(
          Register<i32, 16>::type{}, (const i32*)p, offsets.v, bits, 4)};
    }
  }
#endif
  return gather(lanes, p, [stride](i64 k) { return k * stride; }, mask);
}
template <class L, class M>
SPYRE_INLINE LanesFor<M> load_strided(L lanes, const M* p, i64 stride) {
  if constexpr (sizeof(M) == 4) {
    return load_strided(lanes, p, stride, splat(true));
  } else {
    return gather(lanes, p, [stride](i64 k) { return k * stride; });
  }
}
template <class L, class M>
SPYRE_INLINE void store_strided(L lanes, M* p, i64 stride, const LanesFor<M>& value) {
  scatter(lanes, p, [stride](i64 k) { return k * stride; }, value);
}

// Lanes that an index function reads one by one.
template <class T>
struct LaneArray {
  T x[kLanes];
  SPYRE_INLINE T operator[](i64 k) const { return x[k]; }
};
template <class T>
SPYRE_INLINE LaneArray<T> as_array(const Vec<T>& a) {
  LaneArray<T> array;
  to_array(array.x, a);
  return array;
}
SPYRE_INLINE LaneArray<bool> as_array(const Mask& m) {
  i32 bits[kLanes];
  to_array(bits, m.bits);
  LaneArray<bool> array;
  for (int k = 0; k < kLanes; ++k) array.x[k] = bits[k] != 0;
  return array;
}
template <class T>
SPYRE_INLINE typename LanesOf<T>::type from_lanes(const LaneArray<T>& array) {
  if constexpr (__is_same(T, bool)) {
    i32 bits[kLanes];
    for (int k = 0; k < kLanes; ++k) bits[k] = array.x[k] ? -1 : 0;
    return {from_array(bits)};
  } else {
    return from_array(array.x);
  }
}

// The last lane that exists: what remains when all lanes store to one element.
template <class L, class T>
SPYRE_INLINE T last_lane(L lanes, const Vec<T>& a) {
  T x[kLanes];
  to_array(x, a);
  return x[lanes.count - 1];
}
template <class L>
SPYRE_INLINE bool last_lane(L lanes, const Mask& m) {
  return last_lane(lanes, m.bits) != 0;
}

// An index expression that is not affine in the lane, evaluated lane by lane.
template <class R, class F>
SPYRE_INLINE Vec<R> by_lane(F f) {
  R x[kLanes];
  for (i64 k = 0; k < kLanes; ++k) x[k] = R(f(k));
  return from_array(x);
}
template <class R>
SPYRE_INLINE Vec<R> iota(i64 first, i64 step) {
  return splat<R>(R(first)) + splat<R>(R(step)) * lane_numbers<R>();
}

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_MEMORY_H_
