#include "runtime/registration.h"

#include "runtime/allocator.h"
#include "runtime/host_allocator.h"

namespace spyre::runtime {

void register_runtime() {
  register_allocator();
  register_host_allocator();
  register_guard();
  register_hooks();
  register_graph();
}

}  // namespace spyre::runtime
