#include "runtime/exception.h"

#include <c10/util/Exception.h>

#include "device/properties.h"

namespace spyre::runtime {

namespace {

[[noreturn]] void throw_accelerator_error(int code, const std::string& message) {
  throw c10::AcceleratorError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, code, message);
}

}  // namespace

void throw_status(const device::Status& status) {
  using device::StatusCode;
  switch (status.code) {
    case StatusCode::kInvalidArgument:
      C10_THROW_ERROR(ValueError, status.message);
    case StatusCode::kInvalidDevice:
      throw_accelerator_error(kErrorInvalidDevice, status.message);
    case StatusCode::kOutOfMemory:
      C10_THROW_ERROR(OutOfMemoryError, status.message);
    case StatusCode::kKernelFault:
      throw_accelerator_error(kErrorAssert, status.message);
    case StatusCode::kCapture:
      throw_accelerator_error(kErrorCapture, status.message);
    default:
      C10_THROW_ERROR(Error, status.message);
  }
}

void check_device_index(std::int64_t index) {
  const int count = device::device_count();
  if (index < 0 || index >= count) [[unlikely]] {
    throw_accelerator_error(kErrorInvalidDevice,
                            "Spyre error: invalid device ordinal: spyre:" + std::to_string(index) +
                                ", but there are " + std::to_string(count) +
                                " devices (SPYRE_DEVICE_COUNT or SPYRE_VISIBLE_DEVICES sets "
                                "their number)");
  }
}

}  // namespace spyre::runtime
