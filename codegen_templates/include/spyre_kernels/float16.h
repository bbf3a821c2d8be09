// float16 in memory.
//
// Rounding is to nearest even, denormals are kept and a NaN stays a quiet NaN (its payload is the
// processor's choice), so that a store gives CPU eager's value.
#ifndef SPYRE_KERNELS_FLOAT16_H_
#define SPYRE_KERNELS_FLOAT16_H_

#include "spyre_kernels/widen.h"

namespace spyre::kernels {

#if !defined(SPYRE_AVX512) && !(defined(__F16C__) && defined(SPYRE_AVX2))
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
#endif
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

template <>
struct Memory<f16> {
  using Raw = u16;
  using Scalar = f32;
  static SPYRE_INLINE f32v widen(const u16v& raw) { return widen_f16(raw); }
  static SPYRE_INLINE u16v narrow(const f32v& x) { return narrow_f16(x); }
};

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_FLOAT16_H_
