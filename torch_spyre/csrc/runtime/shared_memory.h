// Storages that several processes use. Their memory is a memfd that each process maps; the card's
// pool has no part in it, so work that uses it owns the storage (design: adopted memory).
//
// Note [Sharing between processes]: the sender's handle names its process, the descriptor and a
// random id. A receiver opens the descriptor under /proc, checks the id and maps the memory, which
// then lives until the last process has dropped it: a receiver outlives its sender. Between send
// and receive the sender keeps the segment: a counter in its first page says how many sent handles
// have not been received, and collect_shared_memory() drops what nobody waits for any more. The
// kernel frees everything when the processes end, however they end.
#pragma once
#include <ATen/core/TensorBase.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace spyre::runtime {

struct SharedHandle {
  std::int64_t process_id = 0;
  std::int64_t descriptor = -1;
  std::string id;  // hexadecimal, the same for every handle of a segment
  std::size_t nbytes = 0;
};

// Makes the storage of a spyre tensor shareable and gives a handle for one receiver. The first call
// waits for the card and moves the storage into shared memory: views stay valid, addresses do not.
// Throws ValueError for a tensor of another device or without memory, RuntimeError when the host
// has no memory.
SharedHandle share_storage(const at::TensorBase& tensor);

// A uint8 tensor of shape [nbytes] on `card` whose storage is the segment. Throws RuntimeError when
// the sender has ended or dropped the memory, or may not be opened.
at::TensorBase open_shared(const SharedHandle& handle, int card);

// Notes the receipt of a handle whose segment this process holds in the storage of `tensor`.
void acknowledge_shared(const at::TensorBase& tensor);

// Drops sent segments that have been received. Gives how many still wait.
std::size_t collect_shared_memory();

}  // namespace spyre::runtime
