// Growing, shrinking and replacing the storage of spyre tensors.
#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/set_native.h>

#include "aten/register.h"
#include "runtime/allocator.h"

namespace spyre::aten {
namespace {

void resize_tensor(at::TensorImpl* impl, at::IntArrayRef sizes,
                   at::OptionalIntArrayRef strides = std::nullopt) {
  if (impl->sizes() == sizes && (!strides || impl->strides() == *strides)) {
    return;
  }
  const std::size_t itemsize = impl->dtype().itemsize();
  const std::size_t offset = impl->storage_offset();
  std::size_t nbytes = 0;
  if (strides) {
    nbytes = at::detail::computeStorageNbytes(sizes, *strides, itemsize, offset);
    impl->set_sizes_and_strides(sizes, *strides);
  } else {
    nbytes = at::detail::computeStorageNbytesContiguous(sizes, itemsize, offset);
    impl->set_sizes_contiguous(sizes);
  }
  TORCH_CHECK(nbytes <= impl->unsafe_storage().nbytes() || impl->unsafe_storage().resizable(),
              "Trying to resize storage that is not resizable");
  if (impl->numel() > 0 && nbytes > impl->unsafe_storage().nbytes()) {
    at::detail::getPrivateUse1Hooks().resizePrivateUse1Bytes(impl->unsafe_storage(), nbytes);
  }
}

const at::Tensor& resize_(const at::Tensor& self, at::IntArrayRef sizes,
                          std::optional<at::MemoryFormat> format) {
  at::TensorImpl* impl = self.unsafeGetTensorImpl();
  resize_tensor(impl, sizes);
  if (format) {
    TORCH_CHECK(*format != at::MemoryFormat::Preserve, "Unsupported memory format", *format);
    impl->empty_tensor_restride(*format);
  }
  return self;
}

at::Tensor& set_storage(at::Tensor& self, at::Storage source, std::int64_t offset,
                        at::IntArrayRef sizes, at::IntArrayRef strides) {
  at::native::checkSetStorage(self, std::move(source), offset, sizes, strides);
  at::TensorImpl* impl = self.unsafeGetTensorImpl();
  impl->set_storage_offset(offset);
  resize_tensor(impl, sizes,
                strides.data() != nullptr ? at::OptionalIntArrayRef(strides) : std::nullopt);
  return self;
}

at::Tensor& set_empty(at::Tensor& self) {
  c10::Storage storage(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), 0, c10::DataPtr(nullptr, self.device()),
      runtime::device_allocator(), /*resizable=*/true));
  return set_storage(self, std::move(storage), 0, {0}, {});
}

}  // namespace

void register_resize(torch::Library& library) {
  library.impl("resize_", TORCH_FN(resize_));
  library.impl("set_.source_Storage", [](at::Tensor& self, at::Storage source) -> at::Tensor& {
    const auto count = static_cast<std::int64_t>(source.nbytes() / self.dtype().itemsize());
    return set_storage(self, std::move(source), 0, {count}, {});
  });
  library.impl("set_.source_Storage_storage_offset", TORCH_FN(set_storage));
  library.impl("set_.source_Tensor", TORCH_FN(at::native::set_tensor_));
  library.impl("set_", TORCH_FN(set_empty));
}

}  // namespace spyre::aten
