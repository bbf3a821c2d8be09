// Random generators of the card.
//
// Note [Generator state]: eager operators draw from a CPU generator that each Spyre generator owns,
// so that the same seed gives the same numbers as on the CPU. Its state is shown as CUDA's 16 bytes
// (seed, offset), where offset counts the 32-bit words drawn since seeding; DTensor and compiled
// kernels (Philox) rely on that layout. Restoring a state that this process handed out is exact and
// fast; any other state is reached by drawing from the seed (about 1 ns per word), without the
// second half of a pair of normal samples that might have been pending.
#pragma once
#include <ATen/core/Generator.h>
#include <c10/core/Device.h>

#include <optional>
#include <vector>

#include "device/stream.h"

namespace spyre::runtime {

// Index -1 is the current card. Throws torch.AcceleratorError when out of range.
const at::Generator& default_generator(c10::DeviceIndex index);
at::Generator new_generator(c10::DeviceIndex index);

// The CPU generator from which the operators of `generator` draw on `stream`; nullopt or an
// undefined generator means the default one of the stream's card. Throws RuntimeError for a
// generator of another device type.
//
// Note [Queued draws]: work draws when it runs. Draws of one stream follow each other by its order;
// a draw on another stream, and whoever reads the state, waits for the last stream that drew. New
// seeds and states need not wait: queued work keeps the CPU generator that it was given and the
// Spyre generator takes a new one. Captured work keeps a third one for ever; each replay begins
// with the state that the Spyre generator has then, and ends with giving it back, in stream order.
at::Generator cpu_generator_of(const std::optional<at::Generator>& generator,
                               device::StreamRef stream);

// The generators that captures have drawn from since forget_captured_draws(): with several captures
// at once, more than a graph needs.
std::vector<at::Generator> captured_draws();
void forget_captured_draws();

// Around the enqueuing of a graph on `stream` whose capture drew from `generators`.
struct ReplayedDraw {
  at::Generator current, captured;  // CPU generators
};
std::vector<ReplayedDraw> begin_replay(const std::vector<at::Generator>& generators,
                                       device::StreamRef stream);
void end_replay(const std::vector<ReplayedDraw>& draws, device::StreamRef stream);

}  // namespace spyre::runtime
