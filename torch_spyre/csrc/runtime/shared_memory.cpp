#include "runtime/shared_memory.h"

#include <ATen/EmptyTensor.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "device/allocator.h"
#include "device/stream.h"
#include "runtime/current.h"
#include "runtime/exception.h"

namespace spyre::runtime {

namespace {

void release_segment(void* context) { delete static_cast<SharedSegmentPtr*>(context); }

c10::DataPtr data_ptr_of(SharedSegmentPtr segment, c10::Device card) {
  void* data = segment->data();
  return {data, new SharedSegmentPtr(std::move(segment)), &release_segment, card};
}

// Null when the storage's memory is not a segment.
SharedSegmentPtr segment_of(const c10::Storage& storage) {
  const c10::DataPtr& data = storage.data_ptr();
  return data.get_deleter() == &release_segment
             ? *static_cast<SharedSegmentPtr*>(data.get_context())
             : nullptr;
}

// Segments whose handles are on their way.
struct Sent {
  std::mutex mutex;
  std::vector<SharedSegmentPtr> segments;
};
Sent& sent() {
  static auto* list = new Sent();  // leaked: the kernel frees the memory when the process ends
  return *list;
}

std::size_t collect_locked(std::vector<SharedSegmentPtr>& segments) {
  std::erase_if(segments, [](const SharedSegmentPtr& segment) {
    return segment->header().in_transit.load(std::memory_order_acquire) <= 0;
  });
  return segments.size();
}

// Note [Who counts shared memory]: the process that made it, as long as it holds it or nobody has
// received it, as on CUDA; a receiver's statistics do not show it.
struct Uncount {
  SharedSegmentPtr segment;
  int card = 0;
  void operator()(SharedSegment* shared) const {
    device::CachingAllocator::of(card).remove_external(shared->data());
  }
};

SharedSegmentPtr move_to_segment(const c10::Storage& storage) {
  const c10::Device card = storage.device();
  check(device::synchronize_device(card.index()));
  SharedSegmentPtr segment = SharedSegment::create(storage.nbytes());
  std::memcpy(segment->data(), storage.data(), storage.nbytes());
  SharedSegmentPtr counted(segment.get(), Uncount{segment, card.index()});
  storage.unsafeGetStorageImpl()->set_data_ptr_noswap(data_ptr_of(counted, card));
  device::CachingAllocator::of(card.index()).add_external(counted->data(), counted->nbytes());
  return counted;
}

}  // namespace

SharedHandle share_storage(const at::TensorBase& tensor) {
  TORCH_CHECK_VALUE(tensor.device().is_privateuseone(),
                    "share_storage: expected a spyre tensor, got ", tensor.device());
  initialize();
  const c10::Storage& storage = tensor.storage();
  TORCH_CHECK_VALUE(storage.nbytes() > 0, "share_storage: the storage has no memory");
  SharedSegmentPtr segment = segment_of(storage);
  if (segment == nullptr) {
    segment = move_to_segment(storage);
  }
  segment->header().in_transit.fetch_add(1, std::memory_order_relaxed);
  const SharedHandle handle = segment->handle();
  std::lock_guard lock(sent().mutex);
  collect_locked(sent().segments);
  if (std::find(sent().segments.begin(), sent().segments.end(), segment) == sent().segments.end()) {
    sent().segments.push_back(std::move(segment));
  }
  return handle;
}

at::TensorBase open_shared(const SharedHandle& handle, int card) {
  initialize();
  check_device_index(card);
  SharedSegmentPtr segment =
      SharedSegment::open(handle, "The spyre tensor (" + std::to_string(handle.nbytes) + " bytes)");
  segment->header().in_transit.fetch_sub(1, std::memory_order_release);
  const c10::Device device(c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(card));
  c10::Storage storage(c10::Storage::use_byte_size_t(), handle.nbytes,
                       data_ptr_of(std::move(segment), device), /*allocator=*/nullptr,
                       /*resizable=*/false);
  auto tensor = at::detail::make_tensor_base<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
      caffe2::TypeMeta::Make<std::uint8_t>());
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous({static_cast<std::int64_t>(handle.nbytes)});
  return tensor;
}

void acknowledge_shared(const at::TensorBase& tensor) {
  if (const SharedSegmentPtr segment = segment_of(tensor.storage())) {
    segment->header().in_transit.fetch_sub(1, std::memory_order_release);
  }
}

std::size_t collect_shared_memory() {
  std::lock_guard lock(sent().mutex);
  return collect_locked(sent().segments);
}

}  // namespace spyre::runtime
