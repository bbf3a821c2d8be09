// Registration of every eager operator of the device.
#pragma once
#include <torch/library.h>

namespace spyre::aten {

// Registers all operators; call once, after torch is loaded and before the first spyre tensor.
void register_operators();

// One function per file of hand-written operators.
void register_factories(torch::Library& library);
void register_views(torch::Library& library);
void register_copies(torch::Library& library);
void register_layout_copies(torch::Library& sparse, torch::Library& compressed,
                            torch::Library& quantized, torch::Library& nested);
void register_resize(torch::Library& library);
void register_tensor_state(torch::Library& library);
void register_convolution(torch::Library& library);
void register_attention(torch::Library& library);
void register_recurrent_cells(torch::Library& library);
// For the card's key and its autograd key: the layers are compositions.
void register_recurrent_layers(torch::Library& library);
void register_losses(torch::Library& library);
void register_histogram(torch::Library& library);
void register_dropout(torch::Library& library);
void register_layer_norm(torch::Library& library);
void register_masking(torch::Library& library);
void register_embedding(torch::Library& library);
void register_nonzero(torch::Library& library);
void register_sync_batch_norm(torch::Library& library);
void register_autocast(torch::Library& library);

}  // namespace spyre::aten
