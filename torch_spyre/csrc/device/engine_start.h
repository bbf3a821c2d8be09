// What layer 1 does on an engine's thread before its first work.
#pragma once

namespace spyre::device {

// ATen chooses the size of OpenMP teams per thread; this lets it choose before the first operator
// runs. Set it before the first enqueue. May be null.
void set_engine_start_hook(void (*hook)());

}  // namespace spyre::device
