#include "aten/cpu_kernel.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/core/List.h>
#include <ATen/core/stack.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "aten/capture.h"
#include "aten/cpu_alias.h"
#include "aten/device_check.h"
#include "aten/execution.h"
#include "device/graph.h"
#include "runtime/capture.h"
#include "runtime/generator.h"
#include "runtime/tunable.h"

namespace spyre::aten {
namespace {

using torch::jit::Stack;

// About 30 us of single-threaded work (Note [Inline execution] in device/stream.h).
constexpr std::int64_t kInlineElements = 32768;
constexpr std::int64_t kInlineElementsUnknown = 16384;  // operators of unknown cost
constexpr double kInlineMultiplyAdds = 1 << 20;         // float32

// The arguments of one call with spyre tensors replaced by aliases, and what was seen on the way.
struct Call {
  explicit Call(Ownership ownership) : aliases(ownership) {}
  AliasSet aliases;
  c10::Device device{c10::DeviceType::PrivateUse1, -1};
  bool plain = true;         // no sparse or nested tensor
  bool host_result = false;  // the device argument names the host
  bool host_data = false;    // a host tensor whose contents the host may change after the call
};

void note_device(Call& call, c10::Device device) {
  if (call.device.index() < 0) {
    call.device = device;
  }
}

at::Tensor alias_argument(Call& call, const at::Tensor& tensor) {
  if (is_spyre(tensor)) {
    note_device(call, tensor.device());
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
      if (device.has_index()) {
        note_device(call, device);
      }
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

bool is_small(const OperatorRecord& record, const AliasSet& aliases) {
  std::int64_t total = 0;
  double product = 1;
  double slow = 1;
  for (std::size_t i = 0; i < aliases.size(); ++i) {
    const at::Tensor& tensor = aliases.alias_at(i);
    const std::int64_t numel = tensor.numel();
    total += numel;
    product *= static_cast<double>(std::max<std::int64_t>(numel, 1));
    if (tensor.scalar_type() != at::kFloat) {
      slow = 8;
    }
  }
  switch (record.cost) {
    case CostKind::kMatmul:
      // [m,k] x [k,n] -> [m,n]: the product of the three sizes is (m k n)^2.
      return total <= kInlineElementsUnknown || std::sqrt(product) * slow <= kInlineMultiplyAdds;
    case CostKind::kElementwise:
      return total <= 3 * kInlineElements;
    case CostKind::kOther:
      return total <= kInlineElementsUnknown;
  }
  return false;
}

// The shape that the operator will give its output, argument `out`, where that is easy to say.
std::optional<at::DimVector> output_shape(const OperatorRecord& record, const Stack& arguments,
                                          std::size_t out) {
  at::DimVector shape;
  std::vector<at::IntArrayRef> inputs;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    if (k != out && arguments[k].isTensor() && arguments[k].toTensor().defined()) {
      inputs.push_back(arguments[k].toTensor().sizes());
    }
  }
  if (record.pointwise) {
    for (const at::IntArrayRef sizes : inputs) {
      shape = at::infer_size_dimvector(shape, sizes);
    }
    return shape;
  }
  if (record.cost == CostKind::kMatmul && inputs.size() >= 2) {
    // The last two inputs are the factors: [..., m, k] x [..., k, n], the latter perhaps a vector.
    const at::IntArrayRef left = inputs[inputs.size() - 2], right = inputs.back();
    if (left.size() >= 2 && (right.size() == left.size() || right.size() == 1)) {
      shape.assign(left.begin(), left.end() - 1);
      if (right.size() > 1) {
        shape.push_back(right.back());
      }
      return shape;
    }
  }
  return std::nullopt;
}

// The kernel would refuse such an output, and the call should say so: a cast that may not be
// allowed, elements that share memory among themselves or with an input.
bool may_be_refused(const at::Tensor& out, const Stack& arguments) {
  if (at::has_internal_overlap(out) != at::MemOverlap::No ||
      !at::isFloatingType(out.scalar_type())) {
    return true;
  }
  for (const c10::IValue& value : arguments) {
    if (!value.isTensor() || !value.toTensor().defined() || value.toTensor().is_same(out)) {
      continue;
    }
    const at::Tensor& input = value.toTensor();
    const bool number = input.unsafeGetTensorImpl()->is_wrapped_number();
    if (number ? input.is_complex()
               : input.scalar_type() != out.scalar_type() ||
                     input.storage().is_alias_of(out.storage())) {
      return true;
    }
  }
  return false;
}

// ATen's own functions hand cat outputs of other dtypes, which it may refuse.
bool lists_have_dtype(const Stack& arguments, at::ScalarType dtype) {
  for (const c10::IValue& value : arguments) {
    for (std::size_t i = 0; value.isTensorList() && i < value.toTensorList().size(); ++i) {
      if (value.toTensorList().get(i).scalar_type() != dtype) {
        return false;
      }
    }
  }
  return true;
}

const at::Tensor* original_of(const AliasSet& aliases, const at::Tensor& alias) {
  for (std::size_t i = 0; i < aliases.size(); ++i) {
    if (aliases.alias_at(i).is_same(alias)) {
      return &aliases.original(i);
    }
  }
  return nullptr;
}

// A user's own out= may have to be resized or refused; the one that the structured wrapper made may
// not, and has never been seen by Python.
bool outputs_fit(const OperatorRecord& record, const AliasSet& aliases, const Stack& arguments) {
  for (std::size_t i = 0; i < arguments.size() && i < 64; ++i) {
    if (!(record.written_arguments >> i & 1) || !arguments[i].isTensor()) {
      continue;
    }
    const at::Tensor& out = arguments[i].toTensor();
    const at::Tensor* original = original_of(aliases, out);
    if (original == nullptr) {
      return false;
    }
    if (original->unsafeGetTensorImpl()->pyobj_slot()->load_pyobj() == nullptr) {
      if ((out.numel() == 0 && out.dim() == 1) || !lists_have_dtype(arguments, out.scalar_type())) {
        return false;
      }
      continue;
    }
    const std::optional<at::DimVector> shape = output_shape(record, arguments, i);
    if (!shape || out.sizes() != at::IntArrayRef(*shape) || may_be_refused(out, arguments)) {
      return false;
    }
  }
  return true;
}

bool returns_only_arguments(const c10::OperatorHandle& op) {
  const auto& results = op.schema().returns();
  return std::all_of(results.begin(), results.end(),
                     [](const c10::Argument& result) { return result.alias_info() != nullptr; });
}

// Wrong bounds must be raised by the call, as on CUDA: the kernel runs on empty tensors first, with
// a generator that nobody uses. False when the tensors' shapes need the kernel's own look.
bool can_queue_random(const c10::OperatorHandle& op, c10::DispatchKey key, const Stack& arguments) {
  static const at::Generator unused = at::detail::createCPUGenerator();
  Stack stack = arguments;
  const at::IntArrayRef shape = arguments[0].toTensor().sizes();
  for (c10::IValue& value : stack) {
    if (value.isTensor()) {
      if (value.toTensor().sizes() != shape) {
        return false;
      }
      value = at::detail::empty_cpu({0}, value.toTensor().scalar_type());
    } else if (value.isGenerator()) {
      value = unused;
    }
  }
  BelowAutograd guard;
  runtime::call_kernel(op, key, &stack);
  return true;
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
  c10::SmallVector<at::Tensor, 2> outputs;  // aliases whose shape must not change
  c10::SmallVector<c10::DimVector, 2> shapes;

  void operator()() {
    Stack stack = arguments;
    runtime::call_kernel(op, key, &stack);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      TORCH_CHECK(outputs[i].sizes() == c10::IntArrayRef(shapes[i]), op.operator_name(),
                  ": the output has shape ", c10::IntArrayRef(shapes[i]), " but ",
                  outputs[i].sizes(), " is needed; resize it before the call");
    }
  }
};

void queue_call(const c10::OperatorHandle& op, const OperatorRecord& record, c10::DispatchKey key,
                device::StreamRef stream, const Stack& borrowed) {
  QueuedCall work{op, key, borrowed, {}, {}};
  for (std::size_t i = 0; i < borrowed.size() && i < 64; ++i) {
    if ((record.written_arguments >> i & 1) && borrowed[i].isTensor()) {
      work.outputs.push_back(borrowed[i].toTensor());
      work.shapes.emplace_back(borrowed[i].toTensor().sizes());
    }
  }
  queue(stream, record.name, std::move(work));
}

void results_to_device(Call& call, Stack& results) {
  for (c10::IValue& value : results) {
    if (value.isTensor()) {
      value = call.aliases.to_device(value.toTensor(), call.device);
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      const c10::List<at::Tensor> given = value.toTensorList();
      for (std::size_t i = 0; i < given.size(); ++i) {
        list.push_back(call.aliases.to_device(given.get(i), call.device));
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
  const bool may_queue = record.queueable;
  Call call(may_queue ? Ownership::kBorrowPool : Ownership::kOwn);
  const Stack originals = may_queue || runtime::any_capture() ? arguments : Stack();
  check_devices(record, arguments);
  for (c10::IValue& value : arguments) {
    alias_value(call, value);
  }
  const bool on_card = call.device.index() >= 0;
  if (!on_card) {
    call.device.set_index(static_cast<c10::DeviceIndex>(runtime::current_device()));
  }
  if (record.reads_requires_grad) {
    call.aliases.copy_requires_grad();
  }
  runtime::initialize();
  const device::StreamRef stream = runtime::current_stream(call.device.index());
  if (record.random) {
    set_generators(op, stream, on_card, arguments);
  }
  const bool small = is_small(record, call.aliases);
  if (may_queue && call.plain && !call.host_data && !(small && runtime::may_run_inline(stream)) &&
      (!record.outputs_may_resize || outputs_fit(record, call.aliases, arguments)) &&
      (!record.random || can_queue_random(op, key, arguments))) {
    record.queued.fetch_add(1, std::memory_order_relaxed);
    queue_call(op, record, key, stream, arguments);
    return_written_arguments(op, originals, stack);
    return;
  }
  if (runtime::any_capture() && device::is_capturing(stream)) {
    if (returns_only_arguments(op) && !record.outputs_may_resize) {
      queue_call(op, record, key, stream, arguments);
      return_written_arguments(op, originals, stack);
    } else {
      capture_call(op, record, key, stream, call.device, originals, std::move(arguments), stack);
    }
    return;
  }
  if (record.reads_data) {
    runtime::note_implicit_wait(record.name.c_str());
  }
  (small ? record.inlined : record.waited).fetch_add(1, std::memory_order_relaxed);
  run_and_wait(stream, record.name, small, [&] { runtime::call_kernel(op, key, &arguments); });
  if (record.mutates) {
    call.aliases.write_back();
  }
  if (!call.host_result) {
    results_to_device(call, arguments);
  }
  stack->insert(stack->end(), std::make_move_iterator(arguments.begin()),
                std::make_move_iterator(arguments.end()));
}

}  // namespace spyre::aten
