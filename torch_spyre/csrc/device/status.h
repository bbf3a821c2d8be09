// How layer 0 reports failure: a code that layer 1 maps to a Python exception, and a sentence.
#pragma once
#include <string>
#include <utility>

namespace spyre::device {

enum class StatusCode {
  kOk,
  kInvalidArgument,  // -> ValueError / RuntimeError
  kInvalidDevice,    // -> torch.AcceleratorError (CUDA's "invalid device ordinal")
  kOutOfMemory,      // -> torch.OutOfMemoryError
  kKernelFault,      // -> torch.AcceleratorError: a kernel's check failed
  kLoadFailed,       // -> spyre LoadError
  kForked,           // -> RuntimeError, CUDA's fork message
  kCapture,          // -> RuntimeError: not permitted while a stream is capturing
  kExternal,         // a C++ exception left queued work; `message` is its what()
};

struct [[nodiscard]] Status {
  StatusCode code = StatusCode::kOk;
  std::string message;

  static Status ok() { return {}; }
  static Status error(StatusCode code, std::string message) { return {code, std::move(message)}; }
  bool is_ok() const { return code == StatusCode::kOk; }
};

}  // namespace spyre::device
