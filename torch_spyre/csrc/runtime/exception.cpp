#include "runtime/exception.h"

#include <c10/util/Exception.h>

#include "device/properties.h"

namespace spyre::runtime {

namespace {

[[noreturn]] void throw_accelerator_error(int code, const std::string& message) {
  throw c10::AcceleratorError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, code, message);
}

// CUDA's number of an error of stream capture; 0 for other errors.
int capture_error_code(device::StatusCode code) {
  using device::StatusCode;
  switch (code) {
    case StatusCode::kIllegalState:
      return 401;
    case StatusCode::kCapture:
      return 900;
    case StatusCode::kCaptureInvalidated:
      return 901;
    case StatusCode::kCaptureMerge:
      return 902;
    case StatusCode::kCaptureUnjoined:
      return 904;
    case StatusCode::kCaptureIsolation:
      return 905;
    case StatusCode::kCaptureImplicit:
      return 906;
    case StatusCode::kCapturedEvent:
      return 907;
    case StatusCode::kCaptureWrongThread:
      return 908;
    default:
      return 0;
  }
}

}  // namespace

void throw_status(const device::Status& status) {
  using device::StatusCode;
  if (const int code = capture_error_code(status.code); code != 0) {
    throw_accelerator_error(code, status.message);
  }
  switch (status.code) {
    case StatusCode::kInvalidArgument:
      C10_THROW_ERROR(ValueError, status.message);
    case StatusCode::kInvalidDevice:
      throw_accelerator_error(kErrorInvalidDevice, status.message);
    case StatusCode::kOutOfMemory:
      C10_THROW_ERROR(OutOfMemoryError, status.message);
    case StatusCode::kKernelFault:
      throw_accelerator_error(kErrorAssert, status.message);
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
