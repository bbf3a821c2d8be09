// How threads that use the card live with Python's lock and with its end.
#pragma once

namespace spyre::bindings {

// Waits of layer 0 release the GIL from now on, and a thread that Python ends while it is torn down
// stays where it is instead of aborting the process.
void join_interpreter();

}  // namespace spyre::bindings
