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
  // Misuse of stream capture -> torch.AcceleratorError with CUDA's number; see graph.h.
  kCapture,             // 900: not permitted while a stream is capturing
  kCaptureInvalidated,  // 901: an earlier error ended the capture
  kCaptureMerge,        // 902: two captures would become one
  kCaptureUnjoined,     // 904: a side stream's work does not lead back to the captured stream
  kCaptureIsolation,    // 905: captured work would wait for work outside
  kCaptureImplicit,     // 906: the default stream would join a capture
  kCapturedEvent,       // 907: an event of a capture has no state
  kCaptureWrongThread,  // 908
  kIllegalState,        // 401: begin of a capture on a stream that captures
  kExternal,            // a C++ exception left queued work; `message` is its what()
};

struct [[nodiscard]] Status {
  StatusCode code = StatusCode::kOk;
  std::string message;

  static Status ok() { return {}; }
  static Status error(StatusCode code, std::string message) { return {code, std::move(message)}; }
  bool is_ok() const { return code == StatusCode::kOk; }
};

}  // namespace spyre::device
