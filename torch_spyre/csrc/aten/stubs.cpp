// ATen functions that run on spyre tensors directly (fill_, cat, sum) ask the dispatch stubs for
// this device: answer with the CPU's kernels. Callers have made sure that the stream is idle.
#include "aten/libtorch_stubs.h"

#include <ATen/TensorIterator.h>
#include <ATen/native/Copy.h>
#include <ATen/native/Fill.h>
#include <ATen/native/ReduceOps.h>

#include "aten/fast_path.h"

namespace spyre::aten {

void forward_stubs_to_cpu() {
  at::native::fill_stub.set_privateuse1_dispatch_ptr(
      [](at::TensorIterator& iterator, const at::Scalar& value) {
        at::native::fill_stub(at::kCPU, iterator, value);
      });
  at::native::copy_stub.set_privateuse1_dispatch_ptr(
      [](at::TensorIterator& iterator, bool non_blocking) {
        at::native::copy_stub(at::kCPU, iterator, non_blocking);
      });
  at::native::sum_stub.set_privateuse1_dispatch_ptr(
      [](at::TensorIterator& iterator) { at::native::sum_stub(at::kCPU, iterator); });
}

}  // namespace spyre::aten
