#include "aten/prediction.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/List.h>
#include <ATen/ops/copy_native.h>
#include <ATen/ops/empty_strided.h>

#include <string_view>
#include <unordered_set>
#include <utility>

#include "aten/execution.h"
#include "runtime/tunable.h"

namespace spyre::aten {
namespace {

using torch::jit::Stack;

at::Tensor meta_of(const at::Tensor& tensor) {
  if (!tensor.defined()) {
    return tensor;
  }
  at::Tensor meta =
      at::empty_strided(tensor.sizes(), tensor.strides(),
                        tensor.options().device(at::kMeta).memory_format(std::nullopt));
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
    meta.unsafeGetTensorImpl()->set_wrapped_number(true);
  }
  return meta;
}

// The value with each tensor of it, or of a list, converted; anything else as it is.
template <class Convert>
c10::IValue with_tensors(const c10::IValue& value, const Convert& convert) {
  if (value.isTensor()) {
    return convert(value.toTensor());
  }
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      list.push_back(convert(tensor));
    }
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    const auto given = value.toOptionalTensorList();
    for (std::size_t i = 0; i < given.size(); ++i) {
      const std::optional<at::Tensor> item = given.get(i);
      list.push_back(item ? std::make_optional(convert(*item)) : std::nullopt);
    }
    return list;
  }
  return value;
}

c10::IValue to_meta(const c10::IValue& value) {
  if (value.isDevice()) {
    return c10::Device(at::kMeta);
  }
  return value.isGenerator() ? c10::IValue() : with_tensors(value, meta_of);
}

std::optional<Stack> results_on_meta(const c10::OperatorHandle& op, const Stack& originals,
                                     std::string* why) {
  if (!op.hasComputedKernelForDispatchKey(c10::DispatchKey::Meta)) {
    *why = "the operator has no meta kernel that tells the shapes of its results";
    return std::nullopt;
  }
  Stack stack;
  BelowAutograd guard;
  try {
    for (const c10::IValue& value : originals) {
      stack.push_back(to_meta(value));
    }
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::Meta), &stack);
  } catch (const std::exception& error) {
    *why = std::string("PyTorch's meta kernel cannot tell the shapes of its results (") +
           error.what() + ")";
    return std::nullopt;
  }
  return stack;
}

// Their meta kernels give statistics CUDA's shapes, which the CPU's backward cannot read.
bool differs_from_meta(const std::string& name) {
  static const std::unordered_set<std::string_view> names = {
      "aten::_embedding_bag",          "aten::_embedding_bag_forward_only",
      "aten::native_batch_norm",       "aten::_native_batch_norm_legit",
      "aten::_batch_norm_with_update", "aten::_batch_norm_no_update",
  };
  return names.contains(name);
}

// A card's tensor as zeros; a host's keeps its data, which is there already.
at::Tensor zeros_of(const at::Tensor& tensor) {
  if (!is_spyre(tensor)) {
    return tensor;
  }
  TORCH_CHECK(tensor.layout() == at::kStrided && !tensor.is_nested() && !tensor.is_quantized(),
              "it has sparse, nested or quantized arguments");
  return at::empty_strided(tensor.sizes(), tensor.strides(),
                           tensor.options().device(at::kCPU).memory_format(std::nullopt))
      .zero_();
}

c10::IValue to_zeros(const c10::IValue& original, const c10::IValue& alias) {
  static const at::Generator unused = at::detail::createCPUGenerator();
  if (alias.isGenerator()) {
    return unused;
  }
  return original.isDevice() ? alias : with_tensors(original, zeros_of);
}

std::optional<Stack> results_on_zeros(const c10::OperatorHandle& op, c10::DispatchKey key,
                                      const Stack& originals, const Stack& aliases,
                                      std::string* why) {
  Stack stack;
  BelowAutograd guard;
  SingleThreadScope threads;
  try {
    for (std::size_t i = 0; i < originals.size(); ++i) {
      stack.push_back(to_zeros(originals[i], aliases[i]));
    }
    runtime::call_kernel(op, key, &stack);
  } catch (const std::exception& error) {
    *why += std::string(why->empty() ? "" : "; ") + "its kernel does not run on zeros (" +
            error.what() + ")";
    return std::nullopt;
  }
  return stack;
}

// What queued work runs: the kernel, then copies of its results to where the host said.
struct PredictedCall {
  c10::OperatorHandle op;
  c10::DispatchKey key;
  Stack arguments;
  std::vector<at::Tensor> outputs;  // aliases

  void operator()() {
    Stack stack = arguments;
    runtime::call_kernel(op, key, &stack);
    const std::vector<at::Tensor> results = result_tensors(stack).value();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].defined()) {
        TORCH_CHECK(results[i].sizes() == outputs[i].sizes(), op.operator_name(), ": shape ",
                    outputs[i].sizes(), " was predicted, got ", results[i].sizes());
        at::native::copy_(outputs[i], results[i], /*non_blocking=*/false);
      }
    }
  }
};

}  // namespace

std::optional<Stack> predict_results(const c10::OperatorHandle& op, const OperatorRecord& record,
                                     c10::DispatchKey key, const Stack& originals,
                                     const Stack& aliases, std::string* why) {
  if (record.reads_data) {
    *why = "the shapes of its results depend on data";
    return std::nullopt;
  }
  if (!differs_from_meta(op.operator_name().name)) {
    if (std::optional<Stack> results = results_on_meta(op, originals, why)) {
      return results;
    }
  }
  return results_on_zeros(op, key, originals, aliases, why);
}

std::optional<std::vector<at::Tensor>> result_tensors(const Stack& results) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& value : results) {
    if (value.isTensor()) {
      if (value.toTensor().defined() && value.toTensor().layout() != at::kStrided) {
        return std::nullopt;
      }
      tensors.push_back(value.toTensor());
    } else if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) {
        tensors.push_back(tensor);
      }
    } else {
      return std::nullopt;
    }
  }
  return tensors;
}

void queue_predicted(const c10::OperatorHandle& op, const OperatorRecord& record,
                     c10::DispatchKey key, device::StreamRef stream, c10::Device device,
                     const Stack& predicted, Stack aliases, Stack* stack) {
  PredictedCall work{op, key, std::move(aliases), {}};
  AliasSet output_aliases(Ownership::kOwn);
  const auto make_output = [&](const at::Tensor& shape) {
    at::Tensor output;
    if (shape.defined()) {
      output = at::empty_strided(shape.sizes(), shape.strides(), shape.options().device(device));
    }
    work.outputs.push_back(output_aliases.alias(output));
    return output;
  };
  for (const c10::IValue& value : predicted) {
    if (value.isTensor()) {
      stack->emplace_back(make_output(value.toTensor()));
      continue;
    }
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      list.push_back(make_output(tensor));
    }
    stack->emplace_back(std::move(list));
  }
  queue(stream, record.name, std::move(work));
}

}  // namespace spyre::aten
