#include "runtime/extern_call.h"

#include <ATen/core/List.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <stdexcept>

#include "runtime/tunable.h"

namespace spyre::runtime {
namespace {

at::Tensor cpu_tensor(void* address, const SlotLayout& layout) {
  c10::Storage storage(c10::Storage::use_byte_size_t{},
                       static_cast<std::size_t>(layout.extent_bytes),
                       c10::DataPtr(address, c10::Device(c10::DeviceType::CPU)),
                       /*allocator=*/nullptr, /*resizable=*/false);
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU),
      c10::scalarTypeToTypeMeta(layout.dtype));
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(layout.sizes, layout.strides);
  return tensor;
}

// An integer constant for a float argument, and the element type of lists, follow the schema.
c10::IValue convert(c10::IValue value, const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::FloatType && value.isInt())
    return static_cast<double>(value.toInt());
  if (type->kind() == c10::TypeKind::BoolType && value.isInt()) return value.toInt() != 0;
  if (type->kind() == c10::TypeKind::OptionalType && !value.isNone())
    return convert(std::move(value), type->expectRef<c10::OptionalType>().getElementType());
  return value;
}

struct Evaluator {
  void* const* addresses;
  const std::vector<SlotLayout>& layouts;
  const std::int64_t* sizes;

  c10::IValue operator()(const ExternArgument& argument, const c10::TypePtr& type) const {
    switch (argument.kind) {
      case ExternArgument::Kind::kSlot:
        return cpu_tensor(addresses[argument.slot], layouts[argument.slot]);
      case ExternArgument::Kind::kSize:
        return convert(sizes[argument.size], type);
      case ExternArgument::Kind::kConstant:
        return convert(argument.constant, type);
      default:
        return list(argument, type);
    }
  }

  c10::IValue list(const ExternArgument& argument, const c10::TypePtr& type) const {
    c10::TypePtr list_type = type;
    if (list_type->kind() == c10::TypeKind::OptionalType)
      list_type = list_type->expectRef<c10::OptionalType>().getElementType();
    const c10::TypePtr element = list_type->expectRef<c10::ListType>().getElementType();
    c10::impl::GenericList items(element);
    items.reserve(argument.items.size());
    for (const ExternArgument& item : argument.items) items.push_back((*this)(item, element));
    return items;
  }
};

c10::IValue pick(const c10::IValue& value, const std::vector<std::int32_t>& path) {
  c10::IValue current = value;
  for (const std::int32_t index : path) {
    const auto at = static_cast<std::size_t>(index);
    current = current.isTuple() ? current.toTupleRef().elements()[at]
                                : c10::IValue(current.toListRef()[at]);
  }
  return current;
}

// Whether nobody else holds the result's memory; a view of an argument lies in memory that is only
// lent to the call (cpu_tensor), and has no context.
bool owns_its_memory(const at::Tensor& tensor) {
  const c10::Storage& storage = tensor.storage();
  return storage.use_count() == 1 && storage.data_ptr().get_context() != nullptr &&
         tensor.storage_offset() == 0;
}

bool may_stand_in(const at::Tensor& tensor, const SlotLayout& layout, std::int64_t bytes) {
  if (bytes < 0 || tensor.layout() != at::kStrided || !tensor.has_storage()) return false;
  return tensor.scalar_type() == layout.dtype && tensor.sizes() == at::IntArrayRef(layout.sizes) &&
         tensor.strides() == at::IntArrayRef(layout.strides) && !tensor.is_conj() &&
         !tensor.is_neg() && owns_its_memory(tensor) &&
         static_cast<std::int64_t>(tensor.storage().nbytes()) >= bytes;
}

bool starts_with(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

constexpr double kNsPerFlop = 0.02;
constexpr double kNsPerByte = 0.1;
constexpr double kNsPerCall = 1500;

}  // namespace

ExternCall::ExternCall(const std::string& name, const std::string& overload,
                       std::vector<ExternArgument> arguments, std::vector<ExternResult> results)
    : name_(name),
      operator_([&] {
        const auto found = c10::Dispatcher::singleton().findSchema({name, overload});
        if (!found)
          throw std::invalid_argument("launch plan calls unknown operator " + name + "." +
                                      overload);
        return *found;
      }()),
      arguments_(std::move(arguments)),
      results_(std::move(results)) {
  const std::size_t expected = operator_.schema().arguments().size();
  if (arguments_.size() != expected)
    throw std::invalid_argument("launch plan gives " + name + " " +
                                std::to_string(arguments_.size()) + " arguments instead of " +
                                std::to_string(expected));
}

std::vector<AdoptedResult> ExternCall::run(void* const* addresses,
                                           const std::vector<SlotLayout>& layouts,
                                           const std::vector<std::int64_t>& adopt_bytes,
                                           const std::int64_t* sizes) const {
  const c10::impl::ExcludeDispatchKeyGuard no_autograd(
      c10::autograd_dispatch_keyset_with_ADInplaceOrView);
  const Evaluator evaluate{addresses, layouts, sizes};
  const auto& schema = operator_.schema().arguments();
  std::vector<c10::IValue> stack;
  stack.reserve(arguments_.size());
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    stack.push_back(evaluate(arguments_[i], schema[i].type()));
  if (!tunable_enabled() || !run_tuned_operator(operator_, stack)) operator_.callBoxed(&stack);
  std::vector<AdoptedResult> adopted;
  // Several returns are several stack entries; one return may itself be a tuple or list.
  const bool several = operator_.schema().returns().size() > 1;
  for (const ExternResult& result : results_) {
    c10::IValue value;
    if (several) {
      value = pick(stack.at(static_cast<std::size_t>(result.path.at(0))),
                   {result.path.begin() + 1, result.path.end()});
    } else {
      value = pick(stack.at(0), result.path);
    }
    const at::Tensor& tensor = value.toTensor();
    const SlotLayout& layout = layouts[result.slot];
    if (may_stand_in(tensor, layout, adopt_bytes[result.slot])) {
      adopted.push_back({result.slot, tensor});
    } else {
      cpu_tensor(addresses[result.slot], layout).copy_(tensor);
    }
  }
  return adopted;
}

double ExternCall::estimate_ns(const std::vector<SlotLayout>& layouts) const {
  double bytes = 0;
  for (const std::int32_t slot : slots()) bytes += static_cast<double>(layouts[slot].extent_bytes);
  double ns = kNsPerCall + bytes * kNsPerByte;
  const auto used = slots();
  const auto numel = [&](std::size_t i) { return static_cast<double>(layouts[used.at(i)].numel); };
  const auto last_size = [&](std::size_t i) {
    const auto& sizes = layouts[used.at(i)].sizes;
    return sizes.empty() ? 1.0 : static_cast<double>(sizes.back());
  };
  if (starts_with(name_, "aten::mm") || starts_with(name_, "aten::bmm")) {
    ns += 2 * numel(0) * last_size(1) * kNsPerFlop;
  } else if (starts_with(name_, "aten::addmm") || starts_with(name_, "aten::baddbmm")) {
    ns += 2 * numel(1) * last_size(2) * kNsPerFlop;
  } else if (starts_with(name_, "aten::convolution")) {
    ns += 2 * numel(0) * numel(1) * kNsPerFlop / 4;
  } else if (starts_with(name_, "aten::_scaled_dot_product")) {
    const auto& keys = layouts[used.at(1)].sizes;
    if (keys.size() >= 2)
      ns += 4 * numel(0) * static_cast<double>(keys[keys.size() - 2]) * kNsPerFlop;
  }
  return ns;
}

std::vector<std::int32_t> ExternCall::slots() const {
  std::vector<std::int32_t> found;
  const auto visit = [&](const auto& self, const ExternArgument& argument) -> void {
    if (argument.kind == ExternArgument::Kind::kSlot) found.push_back(argument.slot);
    for (const ExternArgument& item : argument.items) self(self, item);
  };
  for (const ExternArgument& argument : arguments_) visit(visit, argument);
  for (const ExternResult& result : results_) found.push_back(result.slot);
  return found;
}

}  // namespace spyre::runtime
