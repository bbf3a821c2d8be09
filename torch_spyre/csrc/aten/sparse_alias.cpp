#include "aten/sparse_alias.h"

#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>
#include <c10/core/DeviceGuard.h>

namespace spyre::aten {
namespace {

c10::DispatchKeySet keys_of(c10::Device device, bool coo) {
  if (device.is_cpu()) {
    return c10::DispatchKeySet(coo ? c10::DispatchKey::SparseCPU : c10::DispatchKey::SparseCsrCPU);
  }
  return c10::DispatchKeySet(coo ? c10::DispatchKey::SparsePrivateUse1
                                 : c10::DispatchKey::SparseCsrPrivateUse1);
}

bool is_compressed(at::Layout layout) {
  return layout == at::kSparseCsr || layout == at::kSparseCsc || layout == at::kSparseBsr ||
         layout == at::kSparseBsc;
}

at::SparseTensorImpl* coo_impl(const at::Tensor& tensor) {
  return static_cast<at::SparseTensorImpl*>(tensor.unsafeGetTensorImpl());
}
at::SparseCsrTensorImpl* compressed_impl(const at::Tensor& tensor) {
  return static_cast<at::SparseCsrTensorImpl*>(tensor.unsafeGetTensorImpl());
}

void fill_coo(at::SparseTensorImpl* to, const at::SparseTensorImpl* from,
              const ConvertPart& convert) {
  to->raw_resize_(from->sparse_dim(), from->dense_dim(), from->sizes());
  to->set_indices_and_values_unsafe(convert(from->indices()), convert(from->values()));
  to->set_coalesced(from->coalesced());
}

}  // namespace

at::Tensor rebuild_sparse(const at::Tensor& tensor, c10::Device device,
                          const ConvertPart& convert) {
  const at::TensorImpl* source = tensor.unsafeGetTensorImpl();
  if (tensor.layout() == at::kSparse) {
    // The constructor's empty parts go to the current card, and others are refused later.
    c10::OptionalDeviceGuard card;
    if (!device.is_cpu()) {
      card.reset_device(device);
    }
    auto impl =
        c10::make_intrusive<at::SparseTensorImpl>(keys_of(device, /*coo=*/true), source->dtype());
    fill_coo(impl.get(), coo_impl(tensor), convert);
    return at::Tensor(std::move(impl));
  }
  TORCH_CHECK_NOT_IMPLEMENTED(is_compressed(tensor.layout()), "spyre: tensors with layout ",
                              tensor.layout(), " cannot be shared between the host and the card; ",
                              "convert them to strided or sparse first");
  const at::SparseCsrTensorImpl* from = compressed_impl(tensor);
  auto impl = c10::make_intrusive<at::SparseCsrTensorImpl>(keys_of(device, /*coo=*/false), device,
                                                           tensor.layout(), source->dtype());
  impl->set_member_tensors(convert(from->compressed_indices()), convert(from->plain_indices()),
                           convert(from->values()), source->sizes());
  return at::Tensor(std::move(impl));
}

void write_back_sparse(const at::Tensor& original, const at::Tensor& alias,
                       const ConvertPart& to_device) {
  if (original.layout() == at::kSparse) {
    fill_coo(coo_impl(original), coo_impl(alias), to_device);
    return;
  }
  const at::SparseCsrTensorImpl* from = compressed_impl(alias);
  compressed_impl(original)->set_member_tensors(to_device(from->compressed_indices()),
                                                to_device(from->plain_indices()),
                                                to_device(from->values()), alias.sizes());
}

}  // namespace spyre::aten
