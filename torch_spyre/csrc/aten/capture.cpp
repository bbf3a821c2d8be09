#include "aten/capture.h"

#include <utility>

#include "aten/prediction.h"
#include "device/graph.h"
#include "runtime/current.h"
#include "runtime/exception.h"

namespace spyre::aten {
namespace {

using torch::jit::Stack;

[[noreturn]] void refuse(const OperatorRecord& record, const std::string& why) {
  const std::string message =
      record.name + ": operation not permitted when stream is capturing: " + why;
  device::invalidate_capture(runtime::current_stream(), message);
  runtime::throw_status(device::Status::error(device::StatusCode::kCapture, message));
}

}  // namespace

void capture_call(const c10::OperatorHandle& op, const OperatorRecord& record, c10::DispatchKey key,
                  device::StreamRef stream, c10::Device device, const Stack& originals,
                  Stack aliases, Stack* stack) {
  if (record.mutates) {
    refuse(record, "it may resize its arguments");
  }
  std::string why;
  const std::optional<Stack> predicted = predict_results(op, originals, &why);
  if (!predicted) {
    refuse(record, why);
  }
  if (!result_tensors(*predicted)) {
    refuse(record, "it returns a number to the host");
  }
  queue_predicted(op, record, key, stream, device, *predicted, std::move(aliases), stack);
}

}  // namespace spyre::aten
