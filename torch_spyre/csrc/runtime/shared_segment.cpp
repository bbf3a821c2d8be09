#include "runtime/shared_segment.h"

#include <c10/util/Exception.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

namespace spyre::runtime {

namespace {

std::string hexadecimal(const std::array<unsigned char, 16>& id) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : id) {
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

[[noreturn]] void sender_is_gone(const SharedHandle& handle, const std::string& what) {
  TORCH_CHECK(false, what, " that process ", handle.process_id,
              " shared is gone: the producer has ended. Keep the producer alive until what it sent "
              "was received.");
}

}  // namespace

SharedSegment::SharedSegment(int descriptor, std::size_t nbytes)
    : descriptor_(descriptor), nbytes_(nbytes) {
  base_ = ::mmap(nullptr, kHeaderBytes + nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (base_ == MAP_FAILED) {
    const int error = errno;
    ::close(descriptor);
    TORCH_CHECK(false, "Spyre cannot map ", nbytes,
                " bytes of shared memory: ", std::strerror(error));
  }
}

SharedSegment::~SharedSegment() {
  ::munmap(base_, kHeaderBytes + nbytes_);
  ::close(descriptor_);
}

SharedHandle SharedSegment::handle() const {
  return {::getpid(), descriptor_, hexadecimal(header().id), nbytes_};
}

SharedSegmentPtr SharedSegment::create(std::size_t nbytes) {
  const int descriptor = ::memfd_create("spyre", MFD_CLOEXEC);
  TORCH_CHECK(descriptor >= 0, "Spyre cannot create shared memory: ", std::strerror(errno));
  // Reserved now: memory that is missing at first touch would end the process (SIGBUS).
  const int error = ::posix_fallocate(descriptor, 0, static_cast<off_t>(kHeaderBytes + nbytes));
  if (error != 0) {
    ::close(descriptor);
    TORCH_CHECK(false, "Spyre cannot allocate ", nbytes,
                " bytes of shared memory: ", std::strerror(error));
  }
  auto segment = std::make_shared<SharedSegment>(descriptor, nbytes);
  Header* header = new (&segment->header()) Header{};
  TORCH_CHECK(::getrandom(header->id.data(), header->id.size(), 0) ==
                  static_cast<ssize_t>(header->id.size()),
              "Spyre cannot make an id for shared memory: ", std::strerror(errno));
  return segment;
}

SharedSegmentPtr SharedSegment::open(const SharedHandle& handle, const std::string& what) {
  const std::string path =
      "/proc/" + std::to_string(handle.process_id) + "/fd/" + std::to_string(handle.descriptor);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) {
    if (errno == ENOENT || errno == ESRCH || errno == ENXIO) {
      sender_is_gone(handle, what);
    }
    TORCH_CHECK(false, what, " that process ", handle.process_id,
                " shared cannot be opened: ", std::strerror(errno));
  }
  struct stat info{};
  if (::fstat(descriptor, &info) != 0 ||
      static_cast<std::size_t>(info.st_size) != kHeaderBytes + handle.nbytes) {
    ::close(descriptor);
    sender_is_gone(handle, what);  // the descriptor's number names something else by now
  }
  auto segment = std::make_shared<SharedSegment>(descriptor, handle.nbytes);
  if (hexadecimal(segment->header().id) != handle.id) {
    sender_is_gone(handle, what);
  }
  return segment;
}

}  // namespace spyre::runtime
