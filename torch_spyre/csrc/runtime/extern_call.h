// An ATen operator as a step of a launch plan: runs its CPU kernel on the memory of plan slots.
//
// Note [No references to tensors]: a step sees addresses only. It makes CPU tensors over them while
// it runs, so it needs neither the GIL nor the caller's tensors.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/int_program.h"

namespace spyre::runtime {

// Where and how a slot's tensor lies, for one set of sizes.
struct SlotLayout {
  at::ScalarType dtype = at::ScalarType::Float;
  std::vector<std::int64_t> sizes, strides;
  std::int64_t offset_bytes = 0;  // from the memory's start
  std::int64_t extent_bytes = 0;  // bytes spanned from the slot's address
  std::int64_t numel = 1;
};

struct ExternArgument {
  enum class Kind { kSlot, kSize, kConstant, kList };
  Kind kind = Kind::kConstant;
  std::int32_t slot = -1;
  std::int32_t size = -1;  // position in the plan's table of evaluated sizes
  c10::IValue constant;
  std::vector<ExternArgument> items;
};

struct ExternResult {
  std::int32_t slot = -1;
  std::vector<std::int32_t> path;
};

// A result whose own memory stands in for its slot's.
struct AdoptedResult {
  std::int32_t slot = -1;
  at::Tensor tensor;
};

class ExternCall {
 public:
  // Throws std::invalid_argument when there is no such operator or a different number of arguments.
  ExternCall(const std::string& name, const std::string& overload,
             std::vector<ExternArgument> arguments, std::vector<ExternResult> results);

  // Calls the operator; results are copied into their slots. `addresses`, `layouts` and
  // `adopt_bytes` are per slot. A result with `adopt_bytes` >= 0, of the slot's layout and in
  // memory of its own of that many bytes, is not copied but returned. Throws what the operator
  // throws.
  std::vector<AdoptedResult> run(void* const* addresses, const std::vector<SlotLayout>& layouts,
                                 const std::vector<std::int64_t>& adopt_bytes,
                                 const std::int64_t* sizes) const;

  // Single-threaded nanoseconds, to within a factor of a few.
  double estimate_ns(const std::vector<SlotLayout>& layouts) const;

  const std::string& name() const { return name_; }
  const std::vector<ExternResult>& results() const { return results_; }
  // Every slot the call touches.
  std::vector<std::int32_t> slots() const;

 private:
  std::string name_;
  c10::OperatorHandle operator_;
  std::vector<ExternArgument> arguments_;
  std::vector<ExternResult> results_;
};

}  // namespace spyre::runtime
