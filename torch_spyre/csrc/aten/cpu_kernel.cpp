#include "aten/cpu_kernel.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/core/List.h>
#include <ATen/core/stack.h>

#include <algorithm>

#include "aten/capture.h"
#include "aten/cpu_alias.h"
#include "aten/device_check.h"
#include "aten/execution.h"
#include "aten/factories.h"
#include "aten/queue_rules.h"
#include "aten/written_output.h"
#include "device/graph.h"
#include "runtime/capture.h"
#include "runtime/generator.h"
#include "runtime/tunable.h"

namespace spyre::aten {
namespace {

using torch::jit::Stack;

// The arguments of one call with spyre tensors replaced by aliases, and what was seen on the way.
struct Call {
  explicit Call(Ownership ownership) : aliases(ownership) {}
  AliasSet aliases;
  c10::Device device{c10::DeviceType::PrivateUse1, -1};  // of the tensors
  std::optional<c10::Device> named;                      // by the device argument: the results'
  bool plain = true;                                     // no sparse or nested tensor
  bool host_result = false;                              // the device argument names the host
  bool host_data = false;  // a host tensor whose contents the host may change after the call
};

at::Tensor alias_argument(Call& call, const at::Tensor& tensor) {
  if (is_spyre(tensor)) {
    if (call.device.index() < 0) {
      call.device = tensor.device();
    }
    call.plain &= tensor.layout() == at::kStrided && !tensor.is_nested();
  } else if (tensor.defined() && !tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
    call.host_data = true;
  }
  return call.aliases.alias(tensor);
}

void alias_value(Call& call, c10::IValue& value) {
  if (value.isTensor()) {
    const at::Tensor alias = alias_argument(call, value.toTensor());
    if (!alias.is_same(value.toTensor())) {
      value = alias;
    }
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    const c10::List<at::Tensor> given = value.toTensorList();
    list.reserve(given.size());
    for (std::size_t i = 0; i < given.size(); ++i) {
      list.push_back(alias_argument(call, given.get(i)));
    }
    value = std::move(list);
  } else if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    const c10::List<std::optional<at::Tensor>> given = value.toOptionalTensorList();
    list.reserve(given.size());
    for (std::size_t i = 0; i < given.size(); ++i) {
      const std::optional<at::Tensor> item = given.get(i);
      list.push_back(item ? std::make_optional(alias_argument(call, *item)) : std::nullopt);
    }
    value = std::move(list);
  } else if (value.isDevice()) {
    const c10::Device device = value.toDevice();
    if (device.is_privateuseone()) {
      call.named = resolve_device(device);
      value = c10::Device(at::kCPU);
    } else {
      call.host_result = device.is_cpu();
    }
  }
}

// Tensor operators accept any spyre generator; None means the card's default one. A generator's key
// brings operators of host tensors here: they refuse it.
void set_generators(const c10::OperatorHandle& op, device::StreamRef stream, bool on_card,
                    Stack& arguments) {
  const auto& schema = op.schema().arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto type = schema[i].type();
    const bool generator = type->kind() == c10::TypeKind::GeneratorType ||
                           (type->kind() == c10::TypeKind::OptionalType &&
                            type->expectRef<c10::OptionalType>().getElementType()->kind() ==
                                c10::TypeKind::GeneratorType);
    if (generator) {
      std::optional<at::Generator> given;
      if (!arguments[i].isNone()) {
        given = arguments[i].toGenerator();
        TORCH_CHECK(on_card || !given->defined() || given->device().is_cpu(),
                    "Expected a 'cpu' device type for generator but found '",
                    given->device().type(), "'");
      }
      arguments[i] = runtime::cpu_generator_of(given, stream);
    }
  }
}

bool returns_only_arguments(const c10::OperatorHandle& op) {
  const auto& results = op.schema().returns();
  return std::all_of(results.begin(), results.end(),
                     [](const c10::Argument& result) { return result.alias_info() != nullptr; });
}

// The results of an operator that only writes its arguments are those arguments.
void return_written_arguments(const c10::OperatorHandle& op, const Stack& originals, Stack* stack) {
  const auto& schema = op.schema();
  for (const c10::Argument& result : schema.returns()) {
    const c10::AliasInfo* alias = result.alias_info();
    TORCH_INTERNAL_ASSERT(alias != nullptr, op.operator_name(), " returns a new tensor");
    for (std::size_t i = 0; i < originals.size(); ++i) {
      const c10::AliasInfo* candidate = schema.arguments()[i].alias_info();
      if (candidate != nullptr && *candidate == *alias) {
        stack->push_back(originals[i]);
        break;
      }
    }
  }
}

struct QueuedCall {
  c10::OperatorHandle op;
  c10::DispatchKey key;
  Stack arguments;
  c10::SmallVector<at::Tensor, 2> outputs;  // aliases

  void operator()() {
    Stack stack = arguments;
    c10::SmallVector<WrittenOutput, 2> written(outputs.begin(), outputs.end());
    runtime::call_kernel(op, key, &stack);
    for (WrittenOutput& output : written) {
      output.settle(op.operator_name());
    }
  }
};

void queue_call(const c10::OperatorHandle& op, const OperatorRecord& record, c10::DispatchKey key,
                device::StreamRef stream, const Stack& borrowed) {
  QueuedCall work{op, key, borrowed, {}};
  for (std::size_t i = 0; i < borrowed.size() && i < 64; ++i) {
    if ((record.written_arguments >> i & 1) && borrowed[i].isTensor()) {
      work.outputs.push_back(borrowed[i].toTensor());
    }
  }
  queue(stream, record.name, std::move(work));
}

void results_to_device(Call& call, c10::Device card, Stack& results) {
  for (c10::IValue& value : results) {
    if (value.isTensor()) {
      value = call.aliases.to_device(value.toTensor(), card);
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      const c10::List<at::Tensor> given = value.toTensorList();
      for (std::size_t i = 0; i < given.size(); ++i) {
        list.push_back(call.aliases.to_device(given.get(i), card));
      }
      value = std::move(list);
    }
  }
}

}  // namespace

void run_cpu_kernel(const c10::OperatorHandle& op, OperatorRecord& record, c10::DispatchKey key,
                    Stack* stack) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      op.hasComputedKernelForDispatchKey(key), "Could not run '", record.name,
      "' with arguments from the 'spyre' backend (", tensors_text(*stack, record.argument_count),
      "): the operator has no CPU kernel that the card could run. Move its inputs to the CPU, or "
      "register a kernel for PrivateUse1.");
  const std::size_t first = stack->size() - record.argument_count;
  Stack arguments(std::make_move_iterator(stack->begin() + static_cast<std::ptrdiff_t>(first)),
                  std::make_move_iterator(stack->end()));
  stack->resize(first);
  // AliasSet keeps each original alive: the stack may have held its last reference.
  const bool captures = runtime::any_capture();
  const bool may_queue = record.queueable;
  Call call(may_queue ? Ownership::kBorrowPool : Ownership::kOwn);
  const Stack originals = may_queue || captures ? arguments : Stack();
  check_devices(record, arguments);
  for (c10::IValue& value : arguments) {
    alias_value(call, value);
  }
  const bool has_tensors = call.device.index() >= 0;
  const bool on_card = has_tensors || call.named;
  const c10::Device card = call.named    ? *call.named
                           : has_tensors ? call.device
                                         : resolve_device(std::nullopt);
  if (record.reads_requires_grad) {
    call.aliases.copy_requires_grad();
  }
  runtime::initialize();
  const device::StreamRef stream = runtime::current_stream(card.index());
  if (has_tensors && card != call.device) {
    runtime::synchronize(runtime::current_stream(call.device.index()));
  }
  if (record.random) {
    set_generators(op, stream, on_card, arguments);
  }
  const bool small = is_small(record, call.aliases);
  const bool here = small && runtime::may_run_inline(stream);
  if (may_queue && call.plain && !call.host_data && !here &&
      (!record.outputs_may_resize || outputs_fit(record, call.aliases, arguments)) &&
      (!record.random || can_queue_random(op, key, arguments))) {
    record.queued.fetch_add(1, std::memory_order_relaxed);
    queue_call(op, record, key, stream, arguments);
    return_written_arguments(op, originals, stack);
    return;
  }
  if (captures && device::is_capturing(stream)) {
    if (returns_only_arguments(op)) {
      fit_captured_outputs(op, record, key, originals, arguments);
      queue_call(op, record, key, stream, arguments);
      return_written_arguments(op, originals, stack);
    } else {
      capture_call(op, record, key, stream, card, originals, std::move(arguments), stack);
    }
    return;
  }
  if (record.reads_data) {
    runtime::note_implicit_wait(record.name.c_str());
  }
  (here ? record.inlined : record.waited).fetch_add(1, std::memory_order_relaxed);
  run_and_wait(stream, record.name, small, [&] { runtime::call_kernel(op, key, &arguments); });
  if (record.mutates) {
    call.aliases.write_back();
  }
  if (!call.host_result) {
    results_to_device(call, card, arguments);
  }
  stack->insert(stack->end(), std::make_move_iterator(arguments.begin()),
                std::make_move_iterator(arguments.end()));
}

}  // namespace spyre::aten
