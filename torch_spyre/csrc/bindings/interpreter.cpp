// Note [Threads at exit]: once Python finalises it ends every other thread that asks for the GIL,
// by unwinding the thread's stack (pthread_exit; Python 3.14 lets it wait for ever). In the
// bindings of PyTorch, and in ours, the GIL is asked for by destructors, which may not throw, so
// the unwinding ends in std::terminate and the process aborts although it is about to exit with its
// own code. Such a thread stays asleep instead, as from Python 3.14 on; the process ends without
// it.
#include "bindings/interpreter.h"

#include <Python.h>
#include <cxxabi.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>

#include "device/stream.h"

namespace spyre::bindings {
namespace {

[[noreturn]] void stay() {
  for (;;) {
    ::pause();
  }
}

bool is_ending() {
#if PY_VERSION_HEX >= 0x030d0000
  return Py_IsFinalizing() != 0 || Py_IsInitialized() == 0;
#else
  return _Py_IsFinalizing() != 0 || Py_IsInitialized() == 0;
#endif
}

std::terminate_handler g_previous = nullptr;

// A forced unwinding is no C++ exception. The main thread is the one that finalises.
[[noreturn]] void terminate() {
  if (std::current_exception() == nullptr && is_ending() && ::gettid() != ::getpid()) {
    stay();
  }
  if (g_previous != nullptr) {
    g_previous();
  }
  std::abort();
}

// A wait in layer 0 gives the GIL back when this thread holds it. Null: nothing to restore.
void* release_gil() {
  return Py_IsInitialized() && PyGILState_Check() ? PyEval_SaveThread() : nullptr;
}
void acquire_gil(void* state) {
  if (state == nullptr) {
    return;
  }
  try {
    PyEval_RestoreThread(static_cast<PyThreadState*>(state));
  } catch (const abi::__forced_unwind&) {
    stay();
  }
}

}  // namespace

void join_interpreter() {
  device::set_wait_hooks(release_gil, acquire_gil);
  g_previous = std::set_terminate(terminate);
}

}  // namespace spyre::bindings
