// Fast paths of cat, indexing, where, fill_ and zero_.
#include <ATen/ops/cat_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/cat_native.h>
#include <ATen/ops/copy_native.h>
#include <ATen/ops/fill_native.h>
#include <ATen/ops/index_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/index_native.h>
#include <ATen/ops/index_select_native.h>

#include <cstring>

#include "aten/device_check.h"
#include "aten/fast_path.h"

namespace spyre::aten {
namespace {

namespace slow = at::compositeexplicitautogradnonfunctional;

at::Tensor cat(const at::ITensorListRef& tensors, std::int64_t dim) {
  const at::Tensor* first = nullptr;
  std::int64_t total = 0;
  bool fast = true;
  for (const at::Tensor& tensor : tensors) {
    first = first == nullptr ? &tensor : first;
    total += tensor.numel();
    fast = fast && total <= kFastElements && tensor.dim() > 0 && is_strided(tensor) &&
           tensor.is_contiguous() && tensor.device() == first->device() &&
           tensor.scalar_type() == first->scalar_type();
  }
  if (first == nullptr || !fast || !is_fast(*first)) {
    return OneProfileRow(), slow::cat(tensors, dim);
  }
  Functional<at::native::structured_cat_out_cpu> op(first->device());
  const auto known = op.meta(tensors, dim);
  op.impl(tensors, known.dim, known.valid, known.all_contiguous, known.all_same_dtype,
          known.all_same_sizes_and_stride, known.memory_format, op.output);
  return std::move(op.output);
}

at::Tensor index(const at::Tensor& self, const c10::List<std::optional<at::Tensor>>& indices) {
  bool fast = is_fast(self);
  for (std::size_t i = 0; fast && i < indices.size(); ++i) {
    const std::optional<at::Tensor> item = indices.get(i);
    fast = !item ||
           (is_fast(*item) && item->device() == self.device() && item->scalar_type() == at::kLong);
  }
  if (!fast) {
    return OneProfileRow(), slow::index(self, indices);
  }
  Functional<at::native::structured_index_out> op(self.device());
  const auto known = op.meta(self, at::IOptTensorListRef(indices));
  if (op.output.numel() > kFastElements) {
    return OneProfileRow(), slow::index(self, indices);
  }
  op.use_cpu_kernels();
  op.impl(self, known.sizes, known.strides, op.output);
  return std::move(op.output);
}

at::Tensor index_select(const at::Tensor& self, std::int64_t dim, const at::Tensor& index) {
  check_same_device({&self, &index});
  TORCH_CHECK_INDEX(index.dim() <= 1, "index_select(): Index is supposed to be a vector");
  at::DimVector sizes(self.sizes());
  if (self.dim() > 0) {
    dim = c10::maybe_wrap_dim(dim, self.dim());
    sizes[static_cast<std::size_t>(dim)] = index.numel();
  }
  at::Tensor result = new_tensor(sizes, self.scalar_type(), self.device());
  AliasSet aliases(Ownership::kBorrowPool);
  run_or_queue(stream_of(self), "index_select", result.numel() <= kFastElements,
               [in = aliases.alias(self), at = aliases.alias(index), out = aliases.alias(result),
                dim]() mutable { at::native::index_select_out_cpu_(in, dim, at, out); });
  return result;
}

at::Tensor& fill_(at::Tensor& self, const at::Scalar& value) {
  if (is_fast(self)) {
    return at::native::fill_(self, value);
  }
  AliasSet aliases(Ownership::kBorrowPool);
  run_or_queue(stream_of(self), "fill_", self.numel() <= kFastElements,
               [out = aliases.alias(self), value]() mutable { at::native::fill_(out, value); });
  return self;
}

at::Tensor& zero_(at::Tensor& self) {
  const device::StreamRef stream = stream_of(self);
  if (!self.is_non_overlapping_and_dense()) {
    return fill_(self, 0);
  }
  const std::size_t nbytes = self.numel() * self.itemsize();
  void* address = self.mutable_data_ptr();
  if (nbytes <= (128 << 10) && runtime::may_run_inline(stream)) {
    const device::InlineActivity activity(stream, device::Engine::kCompute, "zero_");
    if (nbytes > 0) {
      std::memset(address, 0, nbytes);
    }
    return self;
  }
  AliasSet aliases(Ownership::kBorrowPool);  // owns what is not the pool's
  queue(stream, "zero_", [out = aliases.alias(self)]() mutable { at::native::fill_(out, 0); });
  return self;
}

}  // namespace

void register_fast_shapes(torch::Library& library) {
  library.impl("cat", TORCH_FN(cat));
  library.impl("index.Tensor", TORCH_FN(index));
  library.impl("index_select", TORCH_FN(index_select));
  library.impl("fill_.Scalar", TORCH_FN(fill_));
  library.impl("zero_", TORCH_FN(zero_));
}

}  // namespace spyre::aten
