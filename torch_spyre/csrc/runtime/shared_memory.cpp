#include "runtime/shared_memory.h"

#include <ATen/EmptyTensor.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/Exception.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "device/stream.h"
#include "runtime/current.h"
#include "runtime/exception.h"

namespace spyre::runtime {

namespace {

// First page of a segment; the memory follows.
struct Header {
  std::array<unsigned char, 16> id;
  std::uint64_t nbytes;
  std::atomic<std::int64_t> in_transit;  // sent handles that nobody has received yet
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free, "shared between processes");
constexpr std::size_t kHeaderBytes = 4096;

std::string hexadecimal(const std::array<unsigned char, 16>& id) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : id) {
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

// One mapped segment; unmapped and closed with its last reference in this process.
class Segment {
 public:
  Segment(int descriptor, std::size_t nbytes) : descriptor_(descriptor), nbytes_(nbytes) {
    base_ =
        ::mmap(nullptr, kHeaderBytes + nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (base_ == MAP_FAILED) {
      const int error = errno;
      ::close(descriptor);
      TORCH_CHECK(false, "Spyre cannot map ", nbytes,
                  " bytes of shared memory: ", std::strerror(error));
    }
  }
  ~Segment() {
    ::munmap(base_, kHeaderBytes + nbytes_);
    ::close(descriptor_);
  }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  Header& header() const { return *static_cast<Header*>(base_); }
  void* data() const { return static_cast<char*>(base_) + kHeaderBytes; }
  std::size_t nbytes() const { return nbytes_; }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
  std::size_t nbytes_;
  void* base_;
};
using SegmentPtr = std::shared_ptr<Segment>;

void release_segment(void* context) { delete static_cast<SegmentPtr*>(context); }

c10::DataPtr data_ptr_of(SegmentPtr segment, c10::Device card) {
  void* data = segment->data();
  return {data, new SegmentPtr(std::move(segment)), &release_segment, card};
}

// Null when the storage's memory is not a segment.
SegmentPtr segment_of(const c10::Storage& storage) {
  const c10::DataPtr& data = storage.data_ptr();
  return data.get_deleter() == &release_segment ? *static_cast<SegmentPtr*>(data.get_context())
                                                : nullptr;
}

SegmentPtr new_segment(std::size_t nbytes) {
  const int descriptor = ::memfd_create("spyre", MFD_CLOEXEC);
  TORCH_CHECK(descriptor >= 0, "Spyre cannot create shared memory: ", std::strerror(errno));
  // Reserved now: memory that is missing at first touch would end the process (SIGBUS).
  const int error = ::posix_fallocate(descriptor, 0, static_cast<off_t>(kHeaderBytes + nbytes));
  if (error != 0) {
    ::close(descriptor);
    TORCH_CHECK(false, "Spyre cannot allocate ", nbytes,
                " bytes of shared memory: ", std::strerror(error));
  }
  auto segment = std::make_shared<Segment>(descriptor, nbytes);
  Header* header = new (&segment->header()) Header{};
  header->nbytes = nbytes;
  TORCH_CHECK(::getrandom(header->id.data(), header->id.size(), 0) ==
                  static_cast<ssize_t>(header->id.size()),
              "Spyre cannot make an id for shared memory: ", std::strerror(errno));
  return segment;
}

// Segments whose handles are on their way.
struct Sent {
  std::mutex mutex;
  std::vector<SegmentPtr> segments;
};
Sent& sent() {
  static auto* list = new Sent();  // leaked: the kernel frees the memory when the process ends
  return *list;
}

std::size_t collect_locked(std::vector<SegmentPtr>& segments) {
  std::erase_if(segments, [](const SegmentPtr& segment) {
    return segment->header().in_transit.load(std::memory_order_acquire) <= 0;
  });
  return segments.size();
}

SegmentPtr move_to_segment(const c10::Storage& storage) {
  const c10::Device card = storage.device();
  check(device::synchronize_device(card.index()));
  SegmentPtr segment = new_segment(storage.nbytes());
  std::memcpy(segment->data(), storage.data(), storage.nbytes());
  storage.unsafeGetStorageImpl()->set_data_ptr_noswap(data_ptr_of(segment, card));
  return segment;
}

[[noreturn]] void sender_is_gone(const SharedHandle& handle) {
  TORCH_CHECK(false, "The spyre tensor (", handle.nbytes, " bytes) that process ",
              handle.process_id,
              " shared is gone: the producer has ended. Keep the producer alive until its tensors "
              "were received.");
}

}  // namespace

SharedHandle share_storage(const at::TensorBase& tensor) {
  TORCH_CHECK_VALUE(tensor.device().is_privateuseone(),
                    "share_storage: expected a spyre tensor, got ", tensor.device());
  initialize();
  const c10::Storage& storage = tensor.storage();
  TORCH_CHECK_VALUE(storage.nbytes() > 0, "share_storage: the storage has no memory");
  SegmentPtr segment = segment_of(storage);
  if (segment == nullptr) {
    segment = move_to_segment(storage);
  }
  segment->header().in_transit.fetch_add(1, std::memory_order_relaxed);
  const SharedHandle handle{::getpid(), segment->descriptor(), hexadecimal(segment->header().id),
                            segment->nbytes()};
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
  const std::string path =
      "/proc/" + std::to_string(handle.process_id) + "/fd/" + std::to_string(handle.descriptor);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) {
    if (errno == ENOENT || errno == ESRCH || errno == ENXIO) {
      sender_is_gone(handle);
    }
    TORCH_CHECK(false, "Spyre cannot open the memory that process ", handle.process_id,
                " shared: ", std::strerror(errno));
  }
  struct stat info{};
  if (::fstat(descriptor, &info) != 0 ||
      static_cast<std::size_t>(info.st_size) != kHeaderBytes + handle.nbytes) {
    ::close(descriptor);
    sender_is_gone(handle);  // the descriptor's number names something else by now
  }
  auto segment = std::make_shared<Segment>(descriptor, handle.nbytes);
  if (hexadecimal(segment->header().id) != handle.id) {
    sender_is_gone(handle);
  }
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
  if (const SegmentPtr segment = segment_of(tensor.storage())) {
    segment->header().in_transit.fetch_sub(1, std::memory_order_release);
  }
}

std::size_t collect_shared_memory() {
  std::lock_guard lock(sent().mutex);
  return collect_locked(sent().segments);
}

}  // namespace spyre::runtime
