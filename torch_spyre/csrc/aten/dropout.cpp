// Dropout composed of the card's own operators, so that large ones queue. The CPU's functions only
// call operators through the dispatcher.
#include <ATen/ops/native_dropout_backward_native.h>
#include <ATen/ops/native_dropout_native.h>

#include "aten/register.h"

namespace spyre::aten {

void register_dropout(torch::Library& library) {
  library.impl("native_dropout", TORCH_FN(at::native::native_dropout_cpu));
  library.impl("native_dropout_backward", TORCH_FN(at::native::native_dropout_backward));
}

}  // namespace spyre::aten
