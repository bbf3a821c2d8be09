// The CUDA fork contract: a child of a process that used the device must not touch it.
#pragma once
#include "status.h"

namespace spyre::device {

// Called by whatever first makes device state (a card, an allocator). Cheap when repeated.
void mark_device_used();

// One relaxed load; see in_bad_fork() in stream.h for the public name.
bool forked_after_use();

Status forked_status();

}  // namespace spyre::device
