// The address range of one card's memory: reserved once, committed in 2 MB huge pages. Internal.
#pragma once
#include <cstddef>
#include <map>

namespace spyre::device {

inline constexpr std::size_t kPageBytes = std::size_t{2} << 20;

// Not thread safe; the allocator's lock guards it. The range is never given back, so that "which
// card owns this address" is a comparison.
class Arena {
 public:
  // Reserves addresses for several times `capacity_bytes`, against fragmentation; less when the
  // process may not have that many (RLIMIT_AS).
  Arena(int device, std::size_t capacity_bytes);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Readable, writable, zeroed, advised to be huge pages; null when the host refuses.
  char* commit(std::size_t nbytes);  // a multiple of kPageBytes
  void release(char* address, std::size_t nbytes);

  const char* base() const { return base_; }
  std::size_t page_count() const { return page_count_; }
  std::size_t page_of(const void* address) const {
    return static_cast<std::size_t>(static_cast<const char*>(address) - base_) / kPageBytes;
  }
  bool contains(const void* address) const {
    return address >= base_ && address < base_ + page_count_ * kPageBytes;
  }

 private:
  char* base_ = nullptr;
  std::size_t page_count_ = 0;
  std::map<std::size_t, std::size_t> free_runs_;  // first page -> pages
};

}  // namespace spyre::device
