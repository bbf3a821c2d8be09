// Structured operators without aliases and without the boxed stack, for small work.
//
// Note [Fast paths]: device memory is host memory, so a TensorIterator over spyre tensors can be
// handed to a CPU kernel as it is. The operator's own meta() computes the metadata and allocates on
// the card; then the iterator's operands are marked as CPU and ATen's impl() runs the CPU stub.
// Only for small work on an idle stream whose tensors need no conversion (TensorIterator converts
// for CPU tensors only); anything else takes the structured wrapper and the boxed kernel.
#pragma once
#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include "aten/cpu_alias.h"
#include "aten/execution.h"
#include "aten/factories.h"

namespace spyre::aten {

inline constexpr std::int64_t kFastElements = 16384;  // below ATen's parallel grain as well

// The structured operator `Op` of at::native, with its output on a card.
template <class Op>
class Functional final : public Op {
 public:
  explicit Functional(c10::Device device) : device_(device) {}
  void set_output_strided(std::int64_t index, at::IntArrayRef sizes, at::IntArrayRef strides,
                          at::TensorOptions options) override {
    const at::ScalarType dtype = c10::typeMetaToScalarType(options.dtype());
    output = strides.empty() ? new_tensor(sizes, dtype, device_)
                             : new_tensor_strided(sizes, strides, dtype, device_);
    // The iterator names channels-last instead of giving strides.
    const auto format = options.memory_format_opt().value_or(at::MemoryFormat::Contiguous);
    if (strides.empty() && format != at::MemoryFormat::Contiguous) {
      output.unsafeGetTensorImpl()->empty_tensor_restride(format);
    }
    if constexpr (std::is_base_of_v<at::TensorIteratorBase, Op>) {
      Op::set_output_raw_strided(index, sizes, strides, options);
    }
  }
  void set_output_raw_strided(std::int64_t index, at::IntArrayRef sizes, at::IntArrayRef strides,
                              at::TensorOptions options) override {
    set_output_strided(index, sizes, strides, options);
  }
  const at::Tensor& maybe_get_output(std::int64_t) override { return output; }
  // After meta(): impl() asks the iterator for its device.
  void use_cpu_kernels() {
    for (at::OperandInfo& operand : this->operands_) {
      operand.device = c10::Device(at::kCPU);
    }
  }
  at::Tensor output;

 private:
  c10::Device device_;
};

// In-place: the output is `self`, whose metadata the caller has checked.
template <class Op>
class InPlace final : public Op {
 public:
  explicit InPlace(const at::Tensor& self) : self_(self) {}
  void set_output_strided(std::int64_t index, at::IntArrayRef sizes, at::IntArrayRef strides,
                          at::TensorOptions options) override {
    Op::set_output_raw_strided(index, sizes, strides, options);
  }
  void set_output_raw_strided(std::int64_t index, at::IntArrayRef sizes, at::IntArrayRef strides,
                              at::TensorOptions options) override {
    Op::set_output_raw_strided(index, sizes, strides, options);
  }
  const at::Tensor& maybe_get_output(std::int64_t) override { return self_; }
  void use_cpu_kernels() {
    for (at::OperandInfo& operand : this->operands_) {
      operand.device = c10::Device(at::kCPU);
    }
  }

 private:
  const at::Tensor& self_;
};

inline device::StreamRef stream_of(const at::Tensor& tensor) {
  return runtime::current_stream(tensor.device().index());
}

inline bool is_strided(const at::Tensor& tensor) { return tensor.layout() == at::kStrided; }

// True for small spyre tensors on an idle stream. Throws the stream's pending error. False under a
// profiler: the other paths report what runs.
inline bool is_fast(const at::Tensor& self) {
  return is_spyre(self) && is_strided(self) && self.numel() <= kFastElements &&
         !device::activity_enabled() && runtime::may_run_inline(stream_of(self));
}
inline bool is_fast(const at::Tensor& self, const at::Tensor& other) {
  return is_fast(self) && other.device() == self.device() && is_strided(other) &&
         other.numel() <= kFastElements && other.scalar_type() == self.scalar_type();
}

// A host number as an operand of `like`'s dtype; undefined when the operator would convert `like`
// or round the number first.
at::Tensor scalar_operand(const at::Tensor& number, const at::Tensor& like);

void register_fast_binary(torch::Library& library);
void register_fast_unary(torch::Library& library);
void register_fast_shapes(torch::Library& library);
void register_fast_matmul(torch::Library& library);
void register_fast_reductions(torch::Library& library);
void register_fast_softmax(torch::Library& library);
// Lets ATen functions that run on spyre tensors directly reach the CPU's kernels.
void forward_stubs_to_cpu();

}  // namespace spyre::aten
