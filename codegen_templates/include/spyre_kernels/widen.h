// Memory type <-> compute lanes: 16-bit floats, bool, and plain numbers.
//
// Rounding to a 16-bit float is to nearest even, denormals are kept and a NaN stays a
// quiet NaN (its payload is the processor's choice), so that a store gives CPU eager's value.
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
struct Memory<f16> {
  using Raw = u16;
  using Scalar = f32;
};
template <>
struct Memory<bf16> {
  using Raw = u16;
  using Scalar = f32;
};
template <>
struct Memory<bool8> {
  using Raw = u8;
  using Scalar = bool;
};

SPYRE_INLINE u32v zero_extend(const u16v& a) {
#if defined(SPYRE_AVX512)
  // GCC 12 splits the generic conversion into two halves.
  using Words = Register<i16, 16>::type;
  using Ints = Register<i32, 16>::type;
  return {(Register<u32, 16>::type)__builtin_ia32_pmovzxwd512_mask((Words)a.v, Ints{}, 0xffff)};
#else
  return convert_pack<u32>(a);
#endif
}

// --- bfloat16 ------------------------------------------------------------------------------------
SPYRE_INLINE f32v widen_bf16(const u16v& raw) {
  return bitcast<f32>(zero_extend(raw) << splat<u32>(16));
}
SPYRE_INLINE u32v round_bits_bf16(const f32v& x) {
  const u32v bits = bitcast<u32>(x);
  const u32v odd = (bits >> splat<u32>(16)) & splat<u32>(1);
  const u32v rounded = (bits + splat<u32>(0x7fff) + odd) >> splat<u32>(16);
  return where(x != x, splat<u32>(0x7fc0), rounded);
}
#if defined(SPYRE_AVX512) && defined(__AVX512BF16__)
#define SPYRE_NATIVE_BF16 1
// The machine's own conversion rounds alike, but flushes denormals.
SPYRE_INLINE bool has_denormal(const f32v& x) {
  return __builtin_expect(__builtin_ia32_fpclassps512_mask(x.v, 0x20, 0xffff), 0);
}
SPYRE_INLINE u16v narrow_bf16_native(const f32v& x) {
  return {(Register<u16, 16>::type)__builtin_ia32_cvtneps2bf16_v16sf(x.v)};
}
#endif
SPYRE_INLINE u16v narrow_bf16(const f32v& x) {
#if defined(SPYRE_NATIVE_BF16)
  if (!has_denormal(x)) return narrow_bf16_native(x);
#endif
  return convert_pack<u16>(round_bits_bf16(x));
}
SPYRE_INLINE f32v round_to_bf16(const f32v& x) {
#if defined(SPYRE_NATIVE_BF16)
  if (!has_denormal(x)) return widen_bf16(narrow_bf16_native(x));
#endif
  return bitcast<f32>(round_bits_bf16(x) << splat<u32>(16));  // it never leaves its lane
}

// --- float16 -------------------------------------------------------------------------------------
SPYRE_INLINE f32 widen_f16_bits(u16 h) {
  const u32 sign = u32(h & 0x8000) << 16, magnitude = h & 0x7fff;
  if (magnitude >= 0x7c00) return __builtin_bit_cast(f32, sign | 0x7f800000 | (magnitude << 13));
  const f32 scaled = __builtin_bit_cast(f32, magnitude << 13) * 0x1p112f;
  return __builtin_bit_cast(f32, sign | __builtin_bit_cast(u32, scaled));
}
SPYRE_INLINE u16 narrow_f16_bits(f32 x) {
  const u32 bits = __builtin_bit_cast(u32, x), magnitude = bits & 0x7fffffff;
  const u16 sign = u16((bits >> 16) & 0x8000);
  if (magnitude > 0x7f800000) return u16(sign | 0x7e00);
  if (magnitude >= 0x47800000) return u16(sign | 0x7c00);
  if (magnitude < 0x38800000) {  // half denormal: let the float adder round at 2^-24
    const f32 shifted = __builtin_bit_cast(f32, magnitude) + 0.5f;
    return u16(sign | (__builtin_bit_cast(u32, shifted) - 0x3f000000));
  }
  const u32 rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return u16(sign | ((rounded - 0x38000000) >> 13));
}
SPYRE_INLINE f32v widen_f16(const u16v& raw) {
#if defined(SPYRE_AVX512)
  using Words = Register<i16, 16>::type;
  return {__builtin_ia32_vcvtph2ps512_mask((Words)raw.v, Register<f32, 16>::type{}, 0xffff, 4)};
#elif defined(__F16C__) && defined(SPYRE_AVX2)
  using Words = Register<i16, 8>::type;
  return {{__builtin_ia32_vcvtph2ps256((Words)low_half(raw).v)},
          {__builtin_ia32_vcvtph2ps256((Words)high_half(raw).v)}};
#else
  return each_lane<f32>([](u16 h) { return widen_f16_bits(h); }, raw);
#endif
}
SPYRE_INLINE u16v narrow_f16(const f32v& x) {
#if defined(SPYRE_AVX512)
  using Words = Register<i16, 16>::type;
  return {(Register<u16, 16>::type)__builtin_ia32_vcvtps2ph512_mask(x.v, 0, Words{}, 0xffff)};
#elif defined(__F16C__) && defined(SPYRE_AVX2)
  using Words = Register<u16, 8>::type;
  return join(Pack<u16, 8>{(Words)__builtin_ia32_vcvtps2ph256(x.lo.v, 0)},
              Pack<u16, 8>{(Words)__builtin_ia32_vcvtps2ph256(x.hi.v, 0)});
#else
  return each_lane<u16>([](f32 v) { return narrow_f16_bits(v); }, x);
#endif
}

// --- one spelling for every memory type ----------------------------------------------------------
template <class M>
SPYRE_INLINE auto widen(const Vec<typename Memory<M>::Raw>& raw) {
  if constexpr (__is_same(M, f16)) {
    return widen_f16(raw);
  } else if constexpr (__is_same(M, bf16)) {
    return widen_bf16(raw);
  } else if constexpr (__is_same(M, bool8)) {
    return to_mask(raw);
  } else if constexpr (requires { Memory<M>::widen(raw); }) {
    return Memory<M>::widen(raw);  // float8.h
  } else {
    return raw;
  }
}
template <class M>
SPYRE_INLINE Vec<typename Memory<M>::Raw> narrow(
    const typename LanesOf<typename Memory<M>::Scalar>::type& value) {
  if constexpr (__is_same(M, f16)) {
    return narrow_f16(value);
  } else if constexpr (__is_same(M, bf16)) {
    return narrow_bf16(value);
  } else if constexpr (__is_same(M, bool8)) {
    return convert<u8>(value);
  } else if constexpr (requires { Memory<M>::narrow(value); }) {
    return Memory<M>::narrow(value);
  } else {
    return value;
  }
}

// The value after a trip through memory type M: what a rounding cast gives.
template <class M>
SPYRE_INLINE f32v round_to(const f32v& x) {
  if constexpr (__is_same(M, bf16)) {
    return round_to_bf16(x);
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
