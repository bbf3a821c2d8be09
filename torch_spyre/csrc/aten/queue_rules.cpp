#include "aten/queue_rules.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>

#include <algorithm>
#include <cmath>

#include "aten/execution.h"
#include "runtime/tunable.h"

namespace spyre::aten {
namespace {

using torch::jit::Stack;

// About 30 us of single-threaded work (Note [Inline execution] in device/stream.h).
constexpr std::int64_t kInlineElements = 32768;
constexpr std::int64_t kInlineElementsUnknown = 16384;  // operators of unknown cost
constexpr double kInlineMultiplyAdds = 1 << 20;         // float32

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

}  // namespace

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

}  // namespace spyre::aten
