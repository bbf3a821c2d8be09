#include "aten/capture.h"

#include <ATen/core/List.h>
#include <ATen/ops/copy_native.h>
#include <ATen/ops/empty_strided.h>

#include <utility>

#include "aten/cpu_alias.h"
#include "aten/execution.h"
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

at::Tensor to_meta(const at::Tensor& tensor) {
  if (!tensor.defined()) {
    return tensor;
  }
  return at::empty_strided(tensor.sizes(), tensor.strides(),
                           tensor.options().device(at::kMeta).memory_format(std::nullopt));
}

c10::IValue to_meta(const c10::IValue& value) {
  if (value.isTensor()) {
    return to_meta(value.toTensor());
  }
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      list.push_back(to_meta(tensor));
    }
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    const auto given = value.toOptionalTensorList();
    for (std::size_t i = 0; i < given.size(); ++i) {
      const std::optional<at::Tensor> item = given.get(i);
      list.push_back(item ? std::make_optional(to_meta(*item)) : std::nullopt);
    }
    return list;
  }
  if (value.isDevice()) {
    return c10::Device(at::kMeta);
  }
  return value.isGenerator() ? c10::IValue() : value;
}

// Results of the right shapes without data.
Stack meta_results(const c10::OperatorHandle& op, const OperatorRecord& record,
                   const Stack& originals) {
  Stack stack;
  for (const c10::IValue& value : originals) {
    stack.push_back(to_meta(value));
  }
  if (!op.hasComputedKernelForDispatchKey(c10::DispatchKey::Meta)) {
    refuse(record, "the operator has no meta kernel that tells the shapes of its results");
  }
  BelowAutograd guard;
  try {
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::Meta), &stack);
  } catch (const std::exception& error) {
    refuse(record, std::string("the shapes of its results depend on data (") + error.what() + ")");
  }
  return stack;
}

// All tensors of a stack in order; lists count as their items.
std::vector<at::Tensor> tensors_of(const OperatorRecord& record, const Stack& values) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& value : values) {
    if (value.isTensor()) {
      tensors.push_back(value.toTensor());
    } else if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) {
        tensors.push_back(tensor);
      }
    } else {
      refuse(record, "it returns a number to the host");
    }
  }
  return tensors;
}

// What a replay runs: the kernel, then copies of its results to where the graph keeps them.
struct CapturedCall {
  c10::OperatorHandle op;
  const OperatorRecord* record;
  c10::DispatchKey key;
  Stack arguments;
  std::vector<at::Tensor> outputs;  // aliases

  void operator()() {
    Stack stack = arguments;
    op.redispatchBoxed(c10::DispatchKeySet(key), &stack);
    const std::vector<at::Tensor> results = tensors_of(*record, stack);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].defined()) {
        continue;
      }
      TORCH_CHECK(results[i].sizes() == outputs[i].sizes(), record->name,
                  ": a replayed graph needs a result of shape ", outputs[i].sizes(), ", got ",
                  results[i].sizes());
      at::native::copy_(outputs[i], results[i], /*non_blocking=*/false);
    }
  }
};

}  // namespace

void capture_call(const c10::OperatorHandle& op, const OperatorRecord& record, c10::DispatchKey key,
                  device::StreamRef stream, c10::Device device, const Stack& originals,
                  Stack aliases, Stack* stack) {
  if (record.mutates) {
    refuse(record, "it may resize its arguments");
  }
  const Stack shapes = meta_results(op, record, originals);
  CapturedCall work{op, &record, key, std::move(aliases), {}};
  AliasSet output_aliases(Ownership::kOwn);
  Stack results;
  const auto make_output = [&](const at::Tensor& shape) {
    at::Tensor output;
    if (shape.defined()) {
      output = at::empty_strided(shape.sizes(), shape.strides(), shape.options().device(device));
    }
    work.outputs.push_back(output_aliases.alias(output));
    return output;
  };
  (void)tensors_of(record, shapes);  // refuses results that are not tensors
  for (const c10::IValue& value : shapes) {
    if (value.isTensor()) {
      results.emplace_back(make_output(value.toTensor()));
      continue;
    }
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      list.push_back(make_output(tensor));
    }
    results.emplace_back(std::move(list));
  }
  queue(stream, record.name, std::move(work));
  stack->insert(stack->end(), results.begin(), results.end());
}

}  // namespace spyre::aten
