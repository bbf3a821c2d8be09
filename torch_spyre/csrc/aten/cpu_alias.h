// CPU tensors that share memory with spyre tensors, both ways, without copies.
//
// Note [Aliases]: device memory is host memory, so a CPU kernel can run on a CPU TensorImpl over
// the device's bytes. Within one AliasSet equal device storages give equal CPU storages, so overlap
// checks and identity of results stay right. An owning alias keeps the device storage alive; a
// borrowing alias of pool memory does not: queued work relies on stream order (allocator.h), as a
// freed block is only reused by later work of the same stream.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/util/SmallVector.h>

#include <optional>

namespace spyre::aten {

inline bool is_spyre(const at::TensorBase& tensor) {
  return tensor.defined() && tensor.unsafeGetTensorImpl()->is_privateuseone();
}

enum class Ownership { kOwn, kBorrowPool };

class AliasSet {
 public:
  explicit AliasSet(Ownership ownership) : ownership_(ownership) {}

  // The CPU alias of a spyre tensor (strided, quantized, sparse COO or compressed, strided nested);
  // the same tensor gives the same alias. Undefined and CPU tensors come back as they are.
  at::Tensor alias(const at::Tensor& tensor);

  // Turns a result of a CPU kernel into a spyre tensor: an alias gives its original, a view on an
  // alias gives a view on the device storage, anything else is adopted without a copy.
  at::Tensor to_device(const at::Tensor& result, c10::Device device);

  // Marks the aliases of tensors that require gradients, for kernels that ask.
  void copy_requires_grad();

  // Copies metadata and storage changes of the aliases back to their originals (out= resize,
  // in-place view operators). Call after a kernel that may change its arguments.
  void write_back();

  std::size_t size() const { return entries_.size(); }
  const at::Tensor& original(std::size_t i) const { return entries_[i].original; }
  const at::Tensor& alias_at(std::size_t i) const { return entries_[i].alias; }
  // Drops the originals, so that queued work holds no reference to device TensorImpls.
  void forget_originals();

 private:
  struct Entry {
    at::Tensor original;  // Note [Last reference]: the boxed stack may own the only other reference
    at::Tensor alias;
  };
  struct StorageEntry {
    c10::StorageImpl* device_storage;
    c10::Storage alias;
    void* data;
  };
  at::Tensor alias_dense(const at::Tensor& tensor);
  at::Tensor alias_sparse(const at::Tensor& tensor);
  // The device storage of an alias's storage; another storage is adopted.
  c10::Storage device_storage(const c10::Storage& storage, c10::Device device) const;
  const c10::Storage& alias_storage(const c10::Storage& storage);

  Ownership ownership_;
  c10::SmallVector<Entry, 4> entries_;
  c10::SmallVector<StorageEntry, 4> storages_;
};

// A spyre tensor over the memory of a CPU tensor, which stays alive with it.
at::Tensor adopt_cpu_tensor(const at::Tensor& tensor, c10::Device device);
// A CPU tensor that owns the memory of a spyre tensor (keeps its storage alive).
at::Tensor share_as_cpu(const at::Tensor& tensor);
// True when the storage's bytes are the pool's (freed in stream order).
bool is_pool_memory(const c10::Storage& storage);

}  // namespace spyre::aten
