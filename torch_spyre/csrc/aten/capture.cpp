#include "aten/capture.h"

#include <ATen/native/Resize.h>

#include <utility>
#include <vector>

#include "aten/cpu_alias.h"
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

// Positions of the tensors of an `.out` form, in the order of its results.
std::vector<std::size_t> out_arguments(const c10::FunctionSchema& schema) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    const bool written = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    if (argument.kwarg_only() && written && argument.type()->kind() == c10::TypeKind::TensorType) {
      found.push_back(i);
    }
  }
  return found;
}

}  // namespace

void fit_captured_outputs(const c10::OperatorHandle& op, const OperatorRecord& record,
                          c10::DispatchKey key, const Stack& originals, Stack& aliases) {
  const std::vector<std::size_t> outs = out_arguments(op.schema());
  if (outs.empty()) {
    return;
  }
  std::string why;
  const std::optional<Stack> predicted = predict_results(op, record, key, originals, aliases, &why);
  if (!predicted) {
    for (const std::size_t i : outs) {
      if (record.outputs_may_resize || originals[i].toTensor().numel() == 0) {
        refuse(record, why);
      }
    }
    return;  // a replay checks that the shape stayed
  }
  for (std::size_t k = 0; k < outs.size(); ++k) {
    const at::Tensor& out = originals[outs[k]].toTensor();
    if (at::native::resize_output(out, predicted->at(k).toTensor().sizes())) {
      aliases[outs[k]] = AliasSet(Ownership::kOwn).alias(out);
    }
  }
}

void capture_call(const c10::OperatorHandle& op, const OperatorRecord& record, c10::DispatchKey key,
                  device::StreamRef stream, c10::Device device, const Stack& originals,
                  Stack aliases, Stack* stack) {
  // Written positional arguments, like running statistics, keep their shapes.
  if (!out_arguments(op.schema()).empty()) {
    refuse(record, "it may resize its arguments");
  }
  for (const c10::Argument& result : op.schema().returns()) {
    if (result.alias_info() != nullptr) {
      refuse(record, "it returns arguments among its results");
    }
  }
  std::string why;
  const std::optional<Stack> predicted = predict_results(op, record, key, originals, aliases, &why);
  if (!predicted) {
    refuse(record, why);
  }
  if (!result_tensors(*predicted)) {
    refuse(record, "it returns a number to the host, or a sparse tensor");
  }
  queue_predicted(op, record, key, stream, device, *predicted, std::move(aliases), stack);
}

}  // namespace spyre::aten
