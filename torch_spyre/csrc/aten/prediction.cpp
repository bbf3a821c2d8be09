#include "aten/prediction.h"

#include <ATen/core/List.h>
#include <ATen/ops/copy_native.h>
#include <ATen/ops/empty_strided.h>

#include <utility>

#include "aten/execution.h"
#include "aten/written_output.h"
#include "runtime/tunable.h"

namespace spyre::aten {
namespace {

using torch::jit::Stack;

// Above this a copy of the results costs more than the wait that it saves.
constexpr std::int64_t kCopiedElements = 1 << 20;

at::Tensor to_meta(const at::Tensor& tensor) {
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

// What queued work runs: the kernel, which writes the outputs or is copied to them.
struct PredictedCall {
  c10::OperatorHandle op;
  c10::DispatchKey key;
  Stack arguments;
  std::vector<at::Tensor> outputs;  // aliases
  bool into_outputs;                // op is the `.out` form

  void operator()() {
    Stack stack = arguments;
    std::vector<WrittenOutput> written;
    if (into_outputs) {
      for (const at::Tensor& output : outputs) {
        stack.emplace_back(output);
        if (output.defined()) {
          written.emplace_back(output);
        }
      }
    }
    runtime::call_kernel(op, key, &stack);
    for (WrittenOutput& output : written) {
      output.settle(op.operator_name());
    }
    const auto results = into_outputs ? std::nullopt : result_tensors(stack);
    for (std::size_t i = 0; results && i < outputs.size(); ++i) {
      const at::Tensor& result = (*results)[i];
      if (outputs[i].defined()) {
        TORCH_CHECK(result.sizes() == outputs[i].sizes(), op.operator_name(), ": shape ",
                    outputs[i].sizes(), " was predicted, got ", result.sizes());
        at::native::copy_(outputs[i], result, /*non_blocking=*/false);
      }
    }
  }
};

bool same_metadata(const at::Tensor& predicted, const at::Tensor& result) {
  if (!predicted.defined() || !result.defined()) {
    return predicted.defined() == result.defined();
  }
  return result.layout() == at::kStrided && !result.is_quantized() && !result.is_nested() &&
         predicted.sizes() == result.sizes() && predicted.strides() == result.strides() &&
         predicted.scalar_type() == result.scalar_type() && !result.is_conj() && !result.is_neg();
}

// Results that are their inputs must stay so.
bool shares_memory(const at::Tensor& result, const AliasSet& aliases) {
  for (std::size_t i = 0; i < aliases.size(); ++i) {
    const at::Tensor& alias = aliases.alias_at(i);
    if (result.defined() && alias.has_storage() && result.storage().is_alias_of(alias.storage())) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<Stack> predict_results(const c10::OperatorHandle& op, const Stack& originals,
                                     std::string* why) {
  if (!op.hasComputedKernelForDispatchKey(c10::DispatchKey::Meta)) {
    *why = "the operator has no meta kernel that tells the shapes of its results";
    return std::nullopt;
  }
  Stack stack;
  for (const c10::IValue& value : originals) {
    stack.push_back(to_meta(value));
  }
  BelowAutograd guard;
  try {
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::Meta), &stack);
  } catch (const std::exception& error) {
    *why = std::string("the shapes of its results depend on data (") + error.what() + ")";
    return std::nullopt;
  }
  return stack;
}

std::optional<std::vector<at::Tensor>> result_tensors(const Stack& results) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& value : results) {
    if (value.isTensor()) {
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

bool worth_queueing(const OperatorRecord& record, const Stack& predicted) {
  if (record.out_form || record.writes_arguments) {
    return true;
  }
  std::int64_t copied = 0;
  const auto results = result_tensors(predicted);
  for (const at::Tensor& tensor : *results) {
    copied += tensor.defined() ? tensor.numel() : 0;
  }
  return copied <= kCopiedElements;
}

void queue_predicted(const c10::OperatorHandle& op, const OperatorRecord& record,
                     c10::DispatchKey key, device::StreamRef stream, c10::Device device,
                     const Stack& predicted, Stack aliases, Ownership ownership, Stack* stack) {
  PredictedCall work{
      record.out_form.value_or(op), key, std::move(aliases), {}, record.out_form.has_value()};
  AliasSet output_aliases(ownership);
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

std::uint64_t dtype_set(const AliasSet& aliases) {
  std::uint64_t set = 0;
  for (std::size_t i = 0; i < aliases.size(); ++i) {
    set |= std::uint64_t{1} << static_cast<unsigned>(aliases.alias_at(i).scalar_type());
  }
  return set;
}

bool prediction_holds(const OperatorRecord& record, std::uint64_t dtypes) {
  for (const auto& known : record.predicted_dtypes) {
    if (known.load(std::memory_order_relaxed) == dtypes) {
      return true;
    }
  }
  return false;
}

void learn_prediction(const c10::OperatorHandle& op, OperatorRecord& record,
                      const AliasSet& aliases, const Stack& originals, const Stack& results) {
  const std::uint64_t dtypes = dtype_set(aliases);
  for (const auto& known : record.refused_dtypes) {
    if (known.load(std::memory_order_relaxed) == dtypes) {
      return;
    }
  }
  if (record.predicted_dtypes.back().load() != 0 || record.refused_dtypes.back().load() != 0) {
    return;  // no room to remember more
  }
  std::string why;
  const auto predicted = predict_results(op, originals, &why);
  bool same = predicted.has_value() && predicted->size() == results.size();
  const auto theirs = same ? result_tensors(*predicted) : std::nullopt;
  const auto ours = same ? result_tensors(results) : std::nullopt;
  same = theirs && ours && theirs->size() == ours->size();
  for (std::size_t i = 0; same && i < ours->size(); ++i) {
    same = same_metadata((*theirs)[i], (*ours)[i]) &&
           (record.writes_arguments || !shares_memory((*ours)[i], aliases));
  }
  for (auto& slot : same ? record.predicted_dtypes : record.refused_dtypes) {
    std::uint64_t empty = 0;
    if (slot.compare_exchange_strong(empty, dtypes) || empty == dtypes) {
      return;
    }
  }
}

}  // namespace spyre::aten
