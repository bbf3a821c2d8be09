#include "aten/cpu_alias.h"

#include <ATen/NestedTensorImpl.h>
#include <ATen/quantized/QTensorImpl.h>
#include <ATen/quantized/Quantizer.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

#include "aten/sparse_alias.h"

namespace spyre::aten {
namespace {

void release_storage(void* context) {
  c10::raw::intrusive_ptr::decref(static_cast<c10::StorageImpl*>(context));
}
void release_nothing(void*) {}

void* storage_address(const c10::Storage& storage) {
  // Not data_ptr(): it refuses COW and functional storages and costs more.
  return storage.unsafeGetStorageImpl()->_mutable_data_ptr_no_checks().get();
}

c10::Storage share_storage(const c10::Storage& storage, c10::Device device,
                           c10::Allocator* allocator) {
  c10::StorageImpl* owner = storage.unsafeGetStorageImpl();
  c10::raw::intrusive_ptr::incref(owner);
  return c10::Storage(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), storage.nbytes(),
      c10::DataPtr(storage_address(storage), owner, &release_storage, device), allocator,
      /*resizable=*/true));
}

void copy_bits(const at::Tensor& from, at::TensorImpl* to) {
  const at::TensorImpl* source = from.unsafeGetTensorImpl();
  if (source->is_wrapped_number()) {
    to->set_wrapped_number(true);
  }
  if (from.is_conj()) {
    to->_set_conj(true);
  }
  if (from.is_neg()) {
    to->_set_neg(true);
  }
}

enum class Side { kHost, kCard };

// The sizes of a strided nested tensor live on the host on every device.
at::Tensor make_nested(c10::Storage storage, Side side, const at::Tensor& like) {
  const auto* from = static_cast<const at::native::NestedTensorImpl*>(like.unsafeGetTensorImpl());
  const c10::DispatchKey key = side == Side::kHost ? c10::DispatchKey::NestedTensorCPU
                                                   : c10::DispatchKey::NestedTensorPrivateUse1;
  return at::Tensor(c10::make_intrusive<at::native::NestedTensorImpl>(
      std::move(storage), c10::DispatchKeySet({key, c10::DispatchKey::AutogradNestedTensor}),
      from->dtype(), from->get_nested_sizes(), from->get_nested_strides(),
      from->get_storage_offsets()));
}

at::Tensor make_tensor(c10::Storage storage, Side side, const at::Tensor& like) {
  const caffe2::TypeMeta dtype = like.unsafeGetTensorImpl()->dtype();
  if (like.is_nested()) {
    return make_nested(std::move(storage), side, like);
  }
  c10::intrusive_ptr<at::TensorImpl> impl;
  if (like.is_quantized()) {
    const c10::DispatchKey key = side == Side::kHost ? c10::DispatchKey::QuantizedCPU
                                                     : c10::DispatchKey::QuantizedPrivateUse1;
    impl = c10::make_intrusive<at::QTensorImpl>(std::move(storage), c10::DispatchKeySet(key), dtype,
                                                at::get_qtensorimpl(like)->quantizer());
  } else {
    const c10::DispatchKey key =
        side == Side::kHost ? c10::DispatchKey::CPU : c10::DispatchKey::PrivateUse1;
    impl = c10::make_intrusive<at::TensorImpl>(std::move(storage), c10::DispatchKeySet(key), dtype);
  }
  impl->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  copy_bits(like, impl.get());
  return at::Tensor(std::move(impl));
}

}  // namespace

bool is_pool_memory(const c10::Storage& storage) {
  const c10::DataPtr& data = storage.unsafeGetStorageImpl()->_mutable_data_ptr_no_checks();
  return data.get_deleter() != &release_storage && data.get() == data.get_context();
}

at::Tensor adopt_cpu_tensor(const at::Tensor& tensor, c10::Device device) {
  return make_tensor(
      share_storage(tensor.storage(), device, c10::GetAllocator(c10::DeviceType::PrivateUse1)),
      Side::kCard, tensor);
}

at::Tensor share_as_cpu(const at::Tensor& tensor) {
  return make_tensor(share_storage(tensor.storage(), at::kCPU, c10::GetCPUAllocator()), Side::kHost,
                     tensor);
}

const c10::Storage& AliasSet::alias_storage(const c10::Storage& storage) {
  c10::StorageImpl* device_storage = storage.unsafeGetStorageImpl();
  for (const StorageEntry& entry : storages_) {
    if (entry.device_storage == device_storage) {
      return entry.alias;
    }
  }
  void* address = storage_address(storage);
  if (ownership_ == Ownership::kBorrowPool && is_pool_memory(storage)) {
    storages_.push_back(
        {device_storage,
         c10::Storage(c10::make_intrusive<c10::StorageImpl>(
             c10::StorageImpl::use_byte_size_t(), storage.nbytes(),
             c10::DataPtr(address, address, &release_nothing, at::kCPU), c10::GetCPUAllocator(),
             /*resizable=*/true)),
         address});
  } else {
    storages_.push_back(
        {device_storage, share_storage(storage, at::kCPU, c10::GetCPUAllocator()), address});
  }
  return storages_.back().alias;
}

at::Tensor AliasSet::alias_dense(const at::Tensor& tensor) {
  return make_tensor(alias_storage(tensor.storage()), Side::kHost, tensor);
}

at::Tensor AliasSet::alias(const at::Tensor& tensor) {
  if (!is_spyre(tensor)) {
    return tensor;
  }
  for (const Entry& entry : entries_) {
    if (entry.original.is_same(tensor)) {
      return entry.alias;
    }
  }
  at::Tensor result = tensor.layout() == at::kStrided ? alias_dense(tensor) : alias_sparse(tensor);
  entries_.push_back({tensor, result});
  return result;
}

at::Tensor AliasSet::alias_sparse(const at::Tensor& tensor) {
  return rebuild_sparse(tensor, at::kCPU, [this](const at::Tensor& part) { return alias(part); });
}

c10::Storage AliasSet::device_storage(const c10::Storage& storage, c10::Device device) const {
  for (const StorageEntry& entry : storages_) {
    if (entry.alias.unsafeGetStorageImpl() == storage.unsafeGetStorageImpl()) {
      return c10::Storage(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(entry.device_storage));
    }
  }
  return share_storage(storage, device, c10::GetAllocator(c10::DeviceType::PrivateUse1));
}

at::Tensor AliasSet::to_device(const at::Tensor& result, c10::Device device) {
  if (!result.defined() || is_spyre(result)) {
    return result;
  }
  for (const Entry& entry : entries_) {
    if (entry.alias.is_same(result)) {
      return entry.original;
    }
  }
  if (result.layout() != at::kStrided) {
    return rebuild_sparse(result, device,
                          [&](const at::Tensor& part) { return to_device(part, device); });
  }
  return make_tensor(device_storage(result.storage(), device), Side::kCard, result);
}

void AliasSet::copy_requires_grad() {
  for (const Entry& entry : entries_) {
    if (entry.original.requires_grad()) {
      entry.alias.unsafeGetTensorImpl()->set_requires_grad(true);
    }
  }
}

void AliasSet::write_back() {
  for (StorageEntry& entry : storages_) {
    c10::StorageImpl* alias = entry.alias.unsafeGetStorageImpl();
    void* address = storage_address(entry.alias);
    if (address == entry.data) {
      continue;
    }
    // The kernel resized the alias: the device storage takes over the new bytes.
    c10::raw::intrusive_ptr::incref(alias);
    entry.device_storage->set_data_ptr_noswap(
        c10::DataPtr(address, alias, &release_storage, entry.device_storage->device()));
    entry.device_storage->set_nbytes(alias->nbytes());
    entry.data = address;
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const at::Tensor original = entries_[i].original;
    const at::Tensor alias = entries_[i].alias;
    if (original.is_nested()) {
      continue;  // no operator resizes one
    }
    if (original.layout() != at::kStrided) {
      write_back_sparse(original, alias,
                        [&](const at::Tensor& part) { return to_device(part, original.device()); });
      continue;
    }
    at::TensorImpl* impl = original.unsafeGetTensorImpl();
    const c10::Storage storage = device_storage(alias.storage(), original.device());
    if (storage.unsafeGetStorageImpl() != original.storage().unsafeGetStorageImpl()) {
      impl->set_storage_keep_dtype(storage);  // set_()
    }
    if (alias.sizes() != original.sizes() || alias.strides() != original.strides() ||
        alias.storage_offset() != original.storage_offset()) {
      impl->set_sizes_and_strides(alias.sizes(), alias.strides(), alias.storage_offset());
    }
  }
}

void AliasSet::forget_originals() {
  for (Entry& entry : entries_) {
    entry.original.reset();
  }
}

}  // namespace spyre::aten
