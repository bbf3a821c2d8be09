#include "aten/factories.h"

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/empty_native.h>
#include <c10/core/DeviceGuard.h>

#include "aten/register.h"
#include "runtime/allocator.h"
#include "runtime/current.h"
#include "runtime/exception.h"

namespace spyre::aten {
namespace {

constexpr c10::DispatchKeySet kSpyreKeys(c10::DispatchKey::PrivateUse1);

c10::intrusive_ptr<at::TensorImpl> allocate(std::size_t nbytes, at::ScalarType dtype,
                                            c10::Device device) {
  runtime::initialize();
  c10::Storage storage(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), nbytes,
      runtime::allocate_on(nbytes, runtime::current_stream(device.index())),
      runtime::device_allocator(), /*resizable=*/true));
  return c10::make_intrusive<at::TensorImpl>(std::move(storage), kSpyreKeys,
                                             c10::scalarTypeToTypeMeta(dtype));
}

void check_options(std::optional<at::Layout> layout, std::optional<bool> pin_memory) {
  TORCH_CHECK(layout.value_or(at::kStrided) == at::kStrided, "spyre: empty() of layout ", *layout,
              " is not a dense factory");
  TORCH_CHECK(!pin_memory.value_or(false), "Only dense CPU tensors can be pinned");
}

// torch.use_deterministic_algorithms() makes reads of uninitialised memory visible.
void fill_if_deterministic(at::Tensor& tensor) {
  const auto& context = at::globalContext();
  if (context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory())
      [[unlikely]] {
    at::native::fill_empty_deterministic_(tensor);
  }
}

at::Tensor empty_memory_format(at::IntArrayRef sizes, std::optional<at::ScalarType> dtype,
                               std::optional<at::Layout> layout, std::optional<c10::Device> device,
                               std::optional<bool> pin_memory,
                               std::optional<at::MemoryFormat> format) {
  check_options(layout, pin_memory);
  at::Tensor result = new_tensor(sizes, c10::dtype_or_default(dtype), resolve_device(device));
  if (format && *format != at::MemoryFormat::Contiguous) {
    TORCH_CHECK(*format != at::MemoryFormat::Preserve,
                "memory format option is only supported by strided tensors");
    result.unsafeGetTensorImpl()->empty_tensor_restride(*format);
  }
  fill_if_deterministic(result);
  return result;
}

at::Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides,
                         std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                         std::optional<c10::Device> device, std::optional<bool> pin_memory) {
  check_options(layout, pin_memory);
  at::Tensor result =
      new_tensor_strided(sizes, strides, c10::dtype_or_default(dtype), resolve_device(device));
  fill_if_deterministic(result);
  return result;
}

// No memory at all: operators know such a tensor by its ZeroTensor key.
at::Tensor efficient_zero_tensor(at::IntArrayRef sizes, std::optional<at::ScalarType> dtype,
                                 std::optional<at::Layout>, std::optional<c10::Device> device,
                                 std::optional<bool>) {
  const at::ScalarType scalar_type = c10::dtype_or_default(dtype);
  const std::size_t nbytes =
      at::detail::computeStorageNbytesContiguous(sizes, c10::elementSize(scalar_type));
  c10::Storage storage(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), nbytes, c10::DataPtr(nullptr, resolve_device(device)),
      runtime::device_allocator(), /*resizable=*/true));
  auto impl = c10::make_intrusive<at::TensorImpl>(
      std::move(storage), kSpyreKeys | c10::DispatchKeySet(c10::DispatchKey::ZeroTensor),
      c10::scalarTypeToTypeMeta(scalar_type));
  impl->set_sizes_contiguous(sizes);
  return at::Tensor(std::move(impl));
}

}  // namespace

c10::Device resolve_device(std::optional<c10::Device> device) {
  if (device && device->has_index()) {
    runtime::check_device_index(device->index());
    return *device;
  }
  runtime::initialize();
  return c10::Device(c10::DeviceType::PrivateUse1,
                     static_cast<c10::DeviceIndex>(runtime::current_device()));
}

at::Tensor new_tensor(at::IntArrayRef sizes, at::ScalarType dtype, c10::Device device) {
  at::detail::check_size_nonnegative(sizes);
  auto impl = allocate(at::detail::computeStorageNbytesContiguous(sizes, c10::elementSize(dtype)),
                       dtype, device);
  if (sizes.size() != 1 || sizes[0] != 0) {
    impl->generic_set_sizes_contiguous(sizes);
  }
  return at::Tensor(std::move(impl));
}

at::Tensor new_tensor_strided(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType dtype,
                              c10::Device device) {
  at::detail::check_size_nonnegative(sizes);
  TORCH_CHECK(sizes.size() == strides.size(), "mismatch in length of strides and shape: ", strides,
              " and ", sizes);
  for (const std::int64_t stride : strides) {
    TORCH_CHECK(stride >= 0, "Trying to create tensor with negative stride ", stride, ": ",
                strides);
  }
  auto impl = allocate(at::detail::computeStorageNbytes(sizes, strides, c10::elementSize(dtype)),
                       dtype, device);
  impl->set_sizes_and_strides(sizes, strides);
  return at::Tensor(std::move(impl));
}

void register_factories(torch::Library& library) {
  library.impl("empty.memory_format", TORCH_FN(empty_memory_format));
  library.impl("empty_strided", TORCH_FN(empty_strided));
  library.impl("_efficientzerotensor", TORCH_FN(efficient_zero_tensor));
}

}  // namespace spyre::aten
