// Everything that layer 1 registers with PyTorch.
#pragma once

namespace spyre::runtime {

void register_guard();
void register_hooks();
void register_graph();

// Registers allocators, guard, hooks and graphs; called once, when the extension is loaded.
void register_runtime();

}  // namespace spyre::runtime
