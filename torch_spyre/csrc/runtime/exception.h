// Turns a device::Status into the exception that CUDA users expect.
#pragma once
#include <string>

#include "device/status.h"

namespace spyre::runtime {

// Error codes of torch.AcceleratorError.error_code; numbers as in CUDA's runtime where one fits.
inline constexpr int kErrorInvalidDevice = 101;
inline constexpr int kErrorAssert = 710;

// Throws: kInvalidArgument -> ValueError, kInvalidDevice/kKernelFault and misuse of
// capture -> torch.AcceleratorError, kOutOfMemory -> torch.OutOfMemoryError, everything else
// RuntimeError.
[[noreturn]] void throw_status(const device::Status& status);

inline void check(const device::Status& status) {
  if (!status.is_ok()) [[unlikely]] {
    throw_status(status);
  }
}

// torch.AcceleratorError with CUDA's wording when `index` is not in [0, device_count()).
void check_device_index(std::int64_t index);

}  // namespace spyre::runtime
