// bfloat16 in memory.
//
// Rounding is to nearest even, denormals are kept and a NaN stays a quiet NaN (its payload is the
// processor's choice), so that a store gives CPU eager's value.
#ifndef SPYRE_KERNELS_BFLOAT16_H_
#define SPYRE_KERNELS_BFLOAT16_H_

#include "spyre_kernels/widen.h"

namespace spyre::kernels {

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

SPYRE_INLINE f32v widen_bf16(const u16v& raw) {
  return bitcast<f32>(zero_extend(raw) << splat<u32>(16));
}
// What is known of a NaN: that of bfloat16 memory, and of arithmetic with it, has a clear low half,
// so that rounding its bits cannot carry it into another number.
enum class Nan { kAny, kClear };

// The rounded value in the high half of each word; the low half is of no meaning.
template <Nan kNan>
SPYRE_INLINE u32v rounded_words(const f32v& x) {
  const u32v bits = bitcast<u32>(x);
#if defined(SPYRE_AVX512)
  using Ints = Register<i32, 16>::type;
  const auto all = (Ints)bits.v;
  const auto odd = __builtin_ia32_ptestmd512(all, (Ints)splat<u32>(0x10000).v, u16(-1));
  const u32v down = bits + splat<u32>(0x7fff);
  const u32v rounded = {(Register<u32, 16>::type)__builtin_ia32_paddd512_mask(
      all, (Ints)splat<u32>(0x8000).v, (Ints)down.v, odd)};
#else
  const u32v odd = (bits >> splat<u32>(16)) & splat<u32>(1);
  const u32v rounded = bits + splat<u32>(0x7fff) + odd;
#endif
  if constexpr (kNan == Nan::kClear) return rounded;
  return where(x != x, splat<u32>(0x7fc00000), rounded);
}
SPYRE_INLINE u32v round_bits_bf16(const f32v& x) {
  return rounded_words<Nan::kAny>(x) >> splat<u32>(16);
}
// As round_to<bf16>, where a NaN is known to have a clear low half.
SPYRE_INLINE f32v round_clear_bf16(const f32v& x) {
  return bitcast<f32>(rounded_words<Nan::kClear>(x) & splat<u32>(0xffff0000));
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

template <>
struct Memory<bf16> {
  using Raw = u16;
  using Scalar = f32;
  static SPYRE_INLINE f32v widen(const u16v& raw) { return widen_bf16(raw); }
  static SPYRE_INLINE u16v narrow(const f32v& x) { return narrow_bf16(x); }
  static SPYRE_INLINE f32v round(const f32v& x) { return round_to_bf16(x); }
};

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_BFLOAT16_H_
