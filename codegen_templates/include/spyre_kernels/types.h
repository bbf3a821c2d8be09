// Scalar names, memory types and the lane vector of the kernel library.
//
// Nothing here includes anything: a kernel compiles in milliseconds. Every vector has kLanes lanes
// whatever its element type; a vector wider than a machine register is a pair of halves, so one
// source serves AVX-512, AVX2 and baseline x86-64 with the same results.
#ifndef SPYRE_KERNELS_TYPES_H_
#define SPYRE_KERNELS_TYPES_H_

#define SPYRE_INLINE inline __attribute__((always_inline))
// An entry point or the ABI version: the only symbols that a module shows.
#define SPYRE_EXPORT extern "C" __attribute__((visibility("default")))
// Written after the parameter list of a lambda that is one step of a loop.
#define SPYRE_STEP __attribute__((always_inline))

// Which machine operations may be named: GCC's, for x86-64. Elsewhere (clang, other processors) the
// same source is plain C++ on 16-byte vectors.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define SPYRE_SSE2 1
#if defined(__AVX2__) && defined(__FMA__)
#define SPYRE_AVX2 1
#endif
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define SPYRE_AVX512 1
#endif
#endif

namespace spyre::kernels {

using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using f32 = float;
using f64 = double;

inline constexpr f32 kInf32 = __builtin_inff();
inline constexpr f32 kNan32 = __builtin_nanf("");
inline constexpr f64 kInf64 = __builtin_inf();
inline constexpr f64 kNan64 = __builtin_nan("");

// Memory types: these exist in buffers only; a load widens them and a store rounds to them.
struct f16 {
  u16 bits;
};
struct bf16 {
  u16 bits;
};
struct f8e4m3fn {
  u8 bits;
};
struct f8e5m2 {
  u8 bits;
};
struct f8e4m3fnuz {
  u8 bits;
};
struct f8e5m2fnuz {
  u8 bits;
};
struct f8e8m0fnu {
  u8 bits;
};
struct bool8 {
  u8 bits;
};

inline constexpr int kLanes = 16;
#if defined(SPYRE_AVX512)
inline constexpr int kRegisterBytes = 64;
#elif defined(SPYRE_AVX2)
inline constexpr int kRegisterBytes = 32;
#else
inline constexpr int kRegisterBytes = 16;
#endif

template <class T, int N>
struct Register {
  typedef T type __attribute__((vector_size(N * sizeof(T))));
};

// N values of T: one machine register, or two halves.
template <class T, int N, bool kFits = (N * sizeof(T) <= kRegisterBytes)>
struct Pack {
  typename Register<T, N>::type v;
};
template <class T, int N>
struct Pack<T, N, false> {
  Pack<T, N / 2> lo, hi;
};

template <class T>
using Vec = Pack<T, kLanes>;

using i8v = Vec<i8>;
using i16v = Vec<i16>;
using i32v = Vec<i32>;
using i64v = Vec<i64>;
using u8v = Vec<u8>;
using u16v = Vec<u16>;
using u32v = Vec<u32>;
using u64v = Vec<u64>;
using f32v = Vec<f32>;
using f64v = Vec<f64>;

// Lanes of bool: all bits of a lane are set, or none.
struct Mask {
  i32v bits;
};

// The vector of a scalar type, and back.
template <class T>
struct LanesOf {
  using type = Vec<T>;
};
template <>
struct LanesOf<bool> {
  using type = Mask;
};
template <class V>
struct ScalarOf {
  using type = V;
};
template <class T, int N>
struct ScalarOf<Pack<T, N>> {
  using type = T;
};
template <>
struct ScalarOf<Mask> {
  using type = bool;
};

// The signed and unsigned integers of one size.
template <int kBytes>
struct IntOfBytes;
template <>
struct IntOfBytes<1> {
  using sint = i8;
  using uint = u8;
};
template <>
struct IntOfBytes<2> {
  using sint = i16;
  using uint = u16;
};
template <>
struct IntOfBytes<4> {
  using sint = i32;
  using uint = u32;
};
template <>
struct IntOfBytes<8> {
  using sint = i64;
  using uint = u64;
};
template <class T>
using SignedOf = typename IntOfBytes<sizeof(T)>::sint;
template <class T>
using UnsignedOf = typename IntOfBytes<sizeof(T)>::uint;

template <class T>
inline constexpr bool kIsFloat = __is_same(T, f32) || __is_same(T, f64);
template <class T>
inline constexpr bool kIsSigned = T(-1) < T(1);

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_TYPES_H_
