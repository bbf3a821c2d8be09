// 8-bit floats in memory, converted as c10's Float8_* classes do (round to nearest even).
#ifndef SPYRE_KERNELS_FLOAT8_H_
#define SPYRE_KERNELS_FLOAT8_H_

#include "spyre_kernels/widen.h"

namespace spyre::kernels {

// kMantissa bits of fraction, exponent bias kBias. `fnuz` formats have one NaN (0x80), no -0.
template <int kMantissa_, int kBias_, bool kFnuz_>
struct Minifloat {
  static constexpr int kMantissa = kMantissa_, kBias = kBias_;
  static constexpr bool kFnuz = kFnuz_;
};
template <class M>
struct FormatOf;
template <>
struct FormatOf<f8e4m3fn> : Minifloat<3, 7, false> {};
template <>
struct FormatOf<f8e5m2> : Minifloat<2, 15, false> {};
template <>
struct FormatOf<f8e4m3fnuz> : Minifloat<3, 8, true> {};
template <>
struct FormatOf<f8e5m2fnuz> : Minifloat<2, 16, true> {};

template <class M>
SPYRE_INLINE f32 widen_f8(u8 bits) {
  using F = FormatOf<M>;
  const u32 magnitude = bits & 0x7f, sign = u32(bits & 0x80) << 24;
  if (F::kFnuz && bits == 0x80) return kNan32;
  if (__is_same(M, f8e4m3fn) && magnitude == 0x7f)
    return __builtin_bit_cast(f32, sign | 0x7fc00000);
  if (__is_same(M, f8e5m2) && magnitude > 0x7c) return __builtin_bit_cast(f32, sign | 0x7fc00000);
  if (__is_same(M, f8e5m2) && magnitude == 0x7c) return __builtin_bit_cast(f32, sign | 0x7f800000);
  // The fields at their float32 place; the multiplication sets the bias and handles denormals.
  const f32 placed = __builtin_bit_cast(f32, magnitude << (23 - F::kMantissa));
  const f32 scale = __builtin_bit_cast(f32, u32(254 - F::kBias) << 23);
  return __builtin_bit_cast(f32, sign | __builtin_bit_cast(u32, placed * scale));
}
template <class M>
SPYRE_INLINE u8 narrow_f8(f32 x) {
  using F = FormatOf<M>;
  constexpr int kShift = 23 - F::kMantissa;
  const u32 bits = __builtin_bit_cast(u32, x), magnitude = bits & 0x7fffffff;
  const u8 sign = u8((bits >> 24) & 0x80);
  constexpr u8 kNan = F::kFnuz ? 0x80 : 0x7f;
  if (magnitude > 0x7f800000) return F::kFnuz ? kNan : u8(sign | kNan);
  u32 result;
  if (magnitude < (u32(128 - F::kBias) << 23)) {
    // Below the smallest normal: let the float adder round at the last denormal bit.
    const u32 magic = u32(127 - F::kBias + 24 - F::kMantissa) << 23;
    const f32 sum = __builtin_bit_cast(f32, magnitude) + __builtin_bit_cast(f32, magic);
    result = __builtin_bit_cast(u32, sum) - magic;
  } else {
    const u32 odd = (magnitude >> kShift) & 1;
    const u32 rounded = magnitude + (1u << (kShift - 1)) - 1 + odd;
    result = (rounded >> kShift) - (u32(127 - F::kBias) << F::kMantissa);
  }
  if (F::kFnuz) return result > 0x7f ? kNan : result == 0 ? u8(0) : u8(sign | result);
  if (__is_same(M, f8e5m2)) return u8(sign | (result > 0x7c ? 0x7c : result));
  return u8(sign | (result > 0x7e ? 0x7e : result));  // torch saturates to 448
}

// A power of two without sign; 255 is NaN, 0 is 2^-127.
template <>
SPYRE_INLINE f32 widen_f8<f8e8m0fnu>(u8 bits) {
  if (bits == 0) return 0x1p-127f;
  return bits == 0xff ? kNan32 : __builtin_bit_cast(f32, u32(bits) << 23);
}
template <>
SPYRE_INLINE u8 narrow_f8<f8e8m0fnu>(f32 x) {
  const u32 bits = __builtin_bit_cast(u32, x), exponent = (bits >> 23) & 0xff;
  const bool half = (bits & 0x400000) != 0, more = (bits & 0x3fffff) != 0 || exponent > 0;
  return u8(exponent + (exponent != 0xff && half && more));
}

#define SPYRE_FLOAT8(M)                                                                 \
  template <>                                                                           \
  struct Memory<M> {                                                                    \
    using Raw = u8;                                                                     \
    using Scalar = f32;                                                                 \
    static SPYRE_INLINE f32v widen(const u8v& raw) {                                    \
      return each_lane<f32>([](u8 bits) SPYRE_STEP { return widen_f8<M>(bits); }, raw); \
    }                                                                                   \
    static SPYRE_INLINE u8v narrow(const f32v& x) {                                     \
      return each_lane<u8>([](f32 v) SPYRE_STEP { return narrow_f8<M>(v); }, x);        \
    }                                                                                   \
  };
SPYRE_FLOAT8(f8e4m3fn)
SPYRE_FLOAT8(f8e5m2)
SPYRE_FLOAT8(f8e4m3fnuz)
SPYRE_FLOAT8(f8e5m2fnuz)
SPYRE_FLOAT8(f8e8m0fnu)
#undef SPYRE_FLOAT8

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_FLOAT8_H_
