// Index bounds and device assertions.
//
// A failed check is reported once per launch and the step is left before anything out of bounds is
// touched: a kernel runs on threads of the team and must not throw.
#ifndef SPYRE_KERNELS_CHECKS_H_
#define SPYRE_KERNELS_CHECKS_H_

#include "spyre/kernel_abi.h"
#include "spyre_kernels/memory.h"

namespace spyre::kernels {

inline constexpr i64 kNoLower = -0x7fffffffffffffff - 1, kNoUpper = 0x7fffffffffffffff;
inline constexpr int kOutOfBounds = 1, kAssertionFailed = 2;

__attribute__((noinline, cold, unused)) static void report(const spyre_kernel_args* args, int code,
                                                           int check, i64 value, i64 lower,
                                                           i64 upper) {
  spyre_kernel_error* error = args->error;
  int none = 0;
  if (__atomic_compare_exchange_n(&error->code, &none, code, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    error->check = args->first_check + check;
    error->value = value;
    error->lower = lower;
    error->upper = upper;
  }
}

template <class T>
  requires(sizeof(T) <= 8 && __is_same(T, typename ScalarOf<T>::type))
SPYRE_INLINE bool in_bounds(const spyre_kernel_args* args, T value, i64 lower, i64 upper, int check,
                            bool mask = true) {
  const i64 index = i64(value);
  if (!mask || (lower <= index && index < upper)) return true;
  report(args, kOutOfBounds, check, index, lower, upper);
  return false;
}
template <class L, class T>
SPYRE_INLINE bool in_bounds(const spyre_kernel_args* args, L lanes, const Vec<T>& value, i64 lower,
                            i64 upper, int check, const Mask& mask = splat(true)) {
  const i64v index = convert<i64>(value);
  const Mask outside = (index < splat(lower)) | (index >= splat(upper));
  const u32 bits = bits_of(outside & mask) & lanes.bits;
  if (__builtin_expect(bits == 0, 1)) return true;
  report(args, kOutOfBounds, check, lane(index, __builtin_ctz(bits)), lower, upper);
  return false;
}

SPYRE_INLINE bool holds(const spyre_kernel_args* args, int check, bool condition,
                        bool mask = true) {
  if (condition || !mask) return true;
  report(args, kAssertionFailed, check, 0, 0, 0);
  return false;
}
template <class L>
SPYRE_INLINE bool holds(const spyre_kernel_args* args, L lanes, int check, const Mask& condition,
                        const Mask& mask = splat(true)) {
  if (__builtin_expect((bits_of(~condition & mask) & lanes.bits) == 0, 1)) return true;
  report(args, kAssertionFailed, check, 0, 0, 0);
  return false;
}

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_CHECKS_H_
