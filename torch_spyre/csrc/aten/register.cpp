#include "aten/register.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "aten/cpu_kernel.h"
#include "aten/execution.h"
#include "aten/fast_path.h"
#include "aten/operator_record.h"

namespace spyre::aten {
namespace {

using c10::DispatchKey;
using c10::OperatorHandle;

torch::Library& library_for(const char* name_space, DispatchKey key) {
  // Registrations live until the process ends; the order of static destructors is nobody's.
  return *new torch::Library(torch::Library::IMPL, name_space, key, __FILE__, __LINE__);
}

// Operators that reach the device without a registration of their own (other namespaces, or
// without a CPU kernel).
template <DispatchKey cpu>
void run_fallback(const OperatorHandle& op, torch::jit::Stack* stack) {
  run_cpu_kernel(op, *find_or_make_record(op), cpu, stack);
}

bool same_inputs(const c10::FunctionSchema& functional, const c10::FunctionSchema& out) {
  const auto& given = functional.arguments();
  const auto& with_out = out.arguments();
  if (with_out.size() != given.size() + functional.returns().size()) {
    return false;
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i].name() != with_out[i].name() || *given[i].type() != *with_out[i].type()) {
      return false;
    }
  }
  return with_out.back().alias_info() != nullptr;
}

struct Operators {
  std::vector<OperatorHandle> all;
  std::unordered_set<std::string> structured_out;  // full names
};

// A structured operator's functional and in-place forms have a composite kernel that computes the
// output's metadata in C++, allocates it, and calls the `.out` form: that is where the boxed
// kernel takes over and may queue.
bool has_structured_wrapper(const OperatorHandle& op) {
  return op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutogradNonFunctional);
}

void run_structured(const OperatorHandle& op, torch::jit::Stack* stack) {
  OneProfileRow(),
      op.callBoxedForDispatchKey(DispatchKey::CompositeExplicitAutogradNonFunctional, *stack);
}

Operators find_operators() {
  Operators found;
  std::map<std::string, std::vector<OperatorHandle>> overloads;
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (!name.name.starts_with("aten::")) {
      continue;
    }
    const auto op = c10::Dispatcher::singleton().findSchema(name);
    if (op) {
      found.all.push_back(*op);
      overloads[name.name].push_back(*op);
    }
  }
  for (const OperatorHandle& op : found.all) {
    if (!has_structured_wrapper(op) || op.operator_name().name.ends_with("_")) {
      continue;
    }
    for (const OperatorHandle& other : overloads[op.operator_name().name]) {
      if (same_inputs(op.schema(), other.schema())) {
        found.structured_out.insert(c10::toString(other.operator_name()));
      }
    }
  }
  return found;
}

// Composite kernels that refuse devices which they do not know, or call a stub of the device.
const std::unordered_set<std::string_view> kDeviceListed = {"aten::mode.values",
                                                            "aten::conj_physical_"};

struct KeyPair {
  DispatchKey spyre, cpu;
};
constexpr std::array<KeyPair, 5> kBoxedKeys = {{
    {DispatchKey::PrivateUse1, DispatchKey::CPU},
    {DispatchKey::SparsePrivateUse1, DispatchKey::SparseCPU},
    {DispatchKey::SparseCsrPrivateUse1, DispatchKey::SparseCsrCPU},
    {DispatchKey::QuantizedPrivateUse1, DispatchKey::QuantizedCPU},
    {DispatchKey::NestedTensorPrivateUse1, DispatchKey::NestedTensorCPU},
}};

// Composite operators without a CPU kernel are made of operators that CUDA's profiles show as well.
void register_structured(const Operators& operators) {
  torch::Library& library = library_for("aten", DispatchKey::PrivateUse1);
  for (const OperatorHandle& op : operators.all) {
    if (has_structured_wrapper(op) && op.hasKernelForDispatchKey(DispatchKey::CPU) &&
        !op.hasKernelForDispatchKey(DispatchKey::PrivateUse1)) {
      library.impl(c10::toString(op.operator_name()).c_str(),
                   torch::CppFunction::makeFromBoxedFunction<&run_structured>());
    }
  }
}

void register_boxed(const Operators& operators, KeyPair keys) {
  torch::Library& library = library_for("aten", keys.spyre);
  for (const OperatorHandle& op : operators.all) {
    const std::string name = c10::toString(op.operator_name());
    const bool dense = keys.cpu == DispatchKey::CPU;
    const bool has_kernel = op.hasKernelForDispatchKey(keys.cpu) ||
                            (dense && kDeviceListed.contains(std::string_view(name)));
    if (!has_kernel || op.hasKernelForDispatchKey(keys.spyre) ||
        (dense && has_structured_wrapper(op))) {
      continue;
    }
    OperatorRecord* record = make_record(op, operators.structured_out.contains(name));
    library.impl(name.c_str(), torch::CppFunction::makeFromBoxedFunctor(
                                   std::make_unique<CpuKernel>(record, keys.cpu)));
  }
}

// copy_ handles both bits itself; materialising the argument first would call it again, for ever.
void register_fallthroughs() {
  for (const DispatchKey key : {DispatchKey::Conjugate, DispatchKey::Negative}) {
    torch::Library& library = library_for("aten", key);
    for (const char* name : {"_copy_from", "_copy_from_and_resize"}) {
      library.impl(name, torch::CppFunction::makeFallthrough());
    }
  }
}

}  // namespace

void register_operators() {
  torch::Library& library = library_for("aten", DispatchKey::PrivateUse1);
  register_factories(library);
  register_views(library);
  register_copies(library);
  register_resize(library);
  register_resize(library_for("aten", DispatchKey::QuantizedPrivateUse1));
  register_tensor_state(library);
  register_convolution(library);
  register_attention(library);
  register_recurrent_cells(library);
  register_recurrent_layers(library);
  register_recurrent_layers(library_for("aten", DispatchKey::AutogradPrivateUse1));
  register_losses(library);
  register_histogram(library);
  register_dropout(library);
  register_layer_norm(library);
  register_masking(library);
  register_embedding(library);
  register_nonzero(library);
  register_sync_batch_norm(library);
  register_fast_binary(library);
  register_fast_unary(library);
  register_fast_reductions(library);
  register_fast_softmax(library);
  register_fast_matmul(library);
  register_fast_shapes(library);
  forward_stubs_to_cpu();
  register_layout_copies(library_for("aten", DispatchKey::SparsePrivateUse1),
                         library_for("aten", DispatchKey::SparseCsrPrivateUse1),
                         library_for("aten", DispatchKey::QuantizedPrivateUse1),
                         library_for("aten", DispatchKey::NestedTensorPrivateUse1));
  register_fallthroughs();
  register_autocast(library_for("aten", DispatchKey::AutocastPrivateUse1));
  library_for("_", DispatchKey::AutocastPrivateUse1)
      .fallback(torch::CppFunction::makeFallthrough());
  const Operators operators = find_operators();
  register_structured(operators);
  for (const KeyPair& keys : kBoxedKeys) {
    register_boxed(operators, keys);
  }
  const auto set_fallback = [](DispatchKey key, torch::CppFunction&& function) {
    library_for("_", key).fallback(std::move(function));
  };
  set_fallback(DispatchKey::PrivateUse1,
               torch::CppFunction::makeFromBoxedFunction<&run_fallback<DispatchKey::CPU>>());
  set_fallback(
      DispatchKey::QuantizedPrivateUse1,
      torch::CppFunction::makeFromBoxedFunction<&run_fallback<DispatchKey::QuantizedCPU>>());
}

}  // namespace spyre::aten
