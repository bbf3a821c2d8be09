// copy_: host to card and back on the DMA engine, on the card and between cards in stream order.
//
// Note [Copies]: as on CUDA, a copy between host and card returns when it is done unless it is
// non_blocking and the host side is pinned; other copies follow stream order only. Small copies on
// an idle stream run on the calling thread.
#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/native/Copy.h>
#include <ATen/ops/copy_native.h>
#include <ATen/ops/zero.h>
#include <ATen/quantized/QTensorImpl.h>
#include <ATen/quantized/Quantizer.h>

#include <cstring>
#include <utility>

#include "aten/cpu_alias.h"
#include "aten/execution.h"
#include "aten/register.h"
#include "aten/sparse_alias.h"
#include "device/event.h"
#include "device/pinned.h"

namespace spyre::aten {
namespace {

constexpr std::int64_t kInlineBytes = 256 << 10;

// One copy between two CPU tensors over the final memory; fit for queued work. Host tensors are
// held through fresh TensorImpls, whose release needs no GIL.
struct CopyWork {
  at::Tensor target, source;
  void operator()() { at::native::copy_(target, source, /*non_blocking=*/false); }
};

CopyWork make_copy(const at::Tensor& self, const at::Tensor& source) {
  AliasSet aliases(Ownership::kBorrowPool);
  const auto host_side = [&](const at::Tensor& tensor) {
    return is_spyre(tensor) ? aliases.alias(tensor) : share_as_cpu(tensor);
  };
  return {host_side(self), host_side(source)};
}

const char* host_copy_name(bool to_card) {
  return to_card ? "copy host to card" : "copy card to host";
}

bool is_small(const at::Tensor& self) {
  return self.numel() * static_cast<std::int64_t>(self.itemsize()) <= kInlineBytes;
}

void run_single_threaded(CopyWork& work) {
  SingleThreadScope threads;  // the DMA engine owns no team
  work();
}

// The commonest copy: the same bytes in the same order. Not under a profiler, which wants a report.
bool copy_bytes_now(const at::Tensor& self, const at::Tensor& source, bool non_blocking) {
  if (device::activity_enabled() || !is_small(self) || self.scalar_type() != source.scalar_type() ||
      self.sizes() != source.sizes() || !self.is_contiguous() || !source.is_contiguous() ||
      self.is_conj() != source.is_conj() || self.is_neg() != source.is_neg()) {
    return false;
  }
  for (const at::Tensor* tensor : {&self, &source}) {
    if (is_spyre(*tensor) &&
        !runtime::may_run_inline(runtime::current_stream(tensor->device().index()))) {
      return false;
    }
  }
  if (!non_blocking && is_spyre(self) != is_spyre(source)) {
    runtime::note_implicit_wait(host_copy_name(is_spyre(self)));
  }
  std::memmove(self.mutable_data_ptr(), source.const_data_ptr(),
               static_cast<std::size_t>(self.numel()) * self.itemsize());
  return true;
}

void copy_host_device(const at::Tensor& self, const at::Tensor& source, bool non_blocking) {
  const bool to_card = is_spyre(self);
  const at::Tensor& card_side = to_card ? self : source;
  const at::Tensor& host_side = to_card ? source : self;
  const device::StreamRef stream = runtime::current_stream(card_side.device().index());
  const char* name = host_copy_name(to_card);
  CopyWork work = make_copy(self, source);
  if (is_small(self) && runtime::may_run_inline(stream)) {
    if (!non_blocking) {
      runtime::note_implicit_wait(name);
    }
    const device::InlineActivity activity(stream, device::Engine::kDma, name);
    BelowAutograd guard;
    run_single_threaded(work);
    return;
  }
  runtime::enqueue_dma(stream, name, [work = std::move(work)]() mutable {
    SingleThreadScope threads;
    return run_as_work(work);
  });
  const void* host_address = host_side.storage().data();
  if (non_blocking && device::is_pinned(host_address)) {
    device::pinned_record_stream(const_cast<void*>(host_address), stream);
    return;
  }
  runtime::synchronize_implicitly(stream, name);
}

void copy_on_card(const at::Tensor& self, const at::Tensor& source) {
  const device::StreamRef stream = runtime::current_stream(self.device().index());
  run_or_queue(stream, "copy_", is_small(self), make_copy(self, source));
}

// The source's stream does the work; each stream waits for the other, as on CUDA.
void copy_between_cards(const at::Tensor& self, const at::Tensor& source) {
  const device::StreamRef from = runtime::current_stream(source.device().index());
  const device::StreamRef to = runtime::current_stream(self.device().index());
  const char* name = "copy card to card";
  if (is_small(self) && runtime::may_run_inline(from) && runtime::may_run_inline(to)) {
    CopyWork work = make_copy(self, source);
    const device::InlineActivity activity(from, device::Engine::kDma, name);
    BelowAutograd guard;
    run_single_threaded(work);
    return;
  }
  device::Event target_ready(to.device);
  runtime::check(target_ready.record(to));
  runtime::check(target_ready.wait(from));
  runtime::enqueue_dma(from, name, [work = make_copy(self, source)]() mutable {
    SingleThreadScope threads;
    return run_as_work(work);
  });
  device::Event copied(from.device);
  runtime::check(copied.record(from));
  runtime::check(copied.wait(to));
}

at::Tensor& copy_(at::Tensor& self, const at::Tensor& source, bool non_blocking) {
  if (self.is_same(source)) {
    return self;
  }
  TORCH_CHECK(at::is_expandable_to(source.sizes(), self.sizes()), "output with shape ",
              self.sizes(), " doesn't match the broadcast shape ", source.sizes());
  if (source._is_zerotensor()) {
    return self.zero_();
  }
  if (self.numel() == 0) {
    return self;
  }
  if (self.is_quantized() && source.is_quantized()) {
    at::get_qtensorimpl(self)->set_quantizer_(at::get_qtensorimpl(source)->quantizer());
  }
  if (is_spyre(self) && is_spyre(source)) {
    at::assert_no_internal_overlap(self);
    at::assert_no_partial_overlap(self, source);
  }
  if (copy_bytes_now(self, source, non_blocking)) {
    return self;
  }
  if (!is_spyre(self) || !is_spyre(source)) {
    copy_host_device(self, source, non_blocking);
  } else if (self.device() == source.device()) {
    copy_on_card(self, source);
  } else {
    copy_between_cards(self, source);
  }
  return self;
}

at::Tensor copy_from(const at::Tensor& source, const at::Tensor& target, bool non_blocking) {
  at::Tensor self = target;
  return copy_(self, source, non_blocking);
}

at::Tensor copy_from_and_resize(const at::Tensor& source, const at::Tensor& target) {
  at::Tensor self = target;
  if (self.sizes() != source.sizes()) {
    self.resize_(source.sizes());
  }
  return copy_(self, source, /*non_blocking=*/false);
}

at::Tensor& copy_sparse(at::Tensor& self, const at::Tensor& source, bool non_blocking) {
  if (self.device() == source.device()) {
    return at::native::copy_sparse_wrapper_(self, source, non_blocking);
  }
  const at::Tensor moved = rebuild_sparse(source, self.device(), [&](const at::Tensor& part) {
    return part.to(self.device(), part.scalar_type(), non_blocking, /*copy=*/true);
  });
  return self.copy_(moved, non_blocking);
}
at::Tensor& copy_compressed(at::Tensor& self, const at::Tensor& source, bool non_blocking) {
  return at::native::copy_sparse_compressed_(self, source, non_blocking);
}

}  // namespace

// ATen's copies of the other layouts copy the parts, which may be on different devices.
void register_layout_copies(torch::Library& sparse, torch::Library& compressed,
                            torch::Library& quantized, torch::Library& nested) {
  sparse.impl("copy_", TORCH_FN(copy_sparse));
  compressed.impl("copy_", TORCH_FN(copy_compressed));
  quantized.impl("copy_", TORCH_FN(copy_));
  nested.impl("copy_", TORCH_FN(at::native::copy_nested_));
}

void register_copies(torch::Library& library) {
  library.impl("copy_", TORCH_FN(copy_));
  library.impl("_copy_from", TORCH_FN(copy_from));
  library.impl("_copy_from_and_resize", TORCH_FN(copy_from_and_resize));
}

}  // namespace spyre::aten
