// A piece of memory that several processes map: a memfd with a first page of bookkeeping.
//
// Note [Sharing between processes]: the sender's handle names its process, the descriptor and a
// random id. A receiver opens the descriptor under /proc, checks the id and maps the memory, which
// then lives until the last process has dropped it: a receiver outlives its sender. Between send
// and receive the sender must keep the segment (shared_memory.h counts who still waits). The kernel
// frees everything when the processes end, however they end.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace spyre::runtime {

struct SharedHandle {
  std::int64_t process_id = 0;
  std::int64_t descriptor = -1;
  std::string id;  // hexadecimal, the same for every handle of a segment
  std::size_t nbytes = 0;
};

// Mapped read-write; unmapped and closed with its last reference in this process.
class SharedSegment {
 public:
  struct Header {
    std::array<unsigned char, 16> id;
    std::atomic<std::int64_t> in_transit;  // sent handles that nobody has received yet
  };
  static_assert(std::atomic<std::int64_t>::is_always_lock_free, "shared between processes");

  // Zeroed memory. Throws RuntimeError when the host has none.
  static std::shared_ptr<SharedSegment> create(std::size_t nbytes);
  // Throws RuntimeError, with the sentence `what` about the thing that was shared, when the sender
  // has ended or dropped it, or may not be opened.
  static std::shared_ptr<SharedSegment> open(const SharedHandle& handle, const std::string& what);

  SharedSegment(int descriptor, std::size_t nbytes);  // takes the descriptor
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  SharedHandle handle() const;
  Header& header() const { return *static_cast<Header*>(base_); }
  void* data() const { return static_cast<char*>(base_) + kHeaderBytes; }
  std::size_t nbytes() const { return nbytes_; }

 private:
  static constexpr std::size_t kHeaderBytes = 4096;
  int descriptor_;
  std::size_t nbytes_;
  void* base_;
};
using SharedSegmentPtr = std::shared_ptr<SharedSegment>;

}  // namespace spyre::runtime
