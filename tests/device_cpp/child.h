// Tests that need a process of their own: the binary starts itself with `--child NAME`.
#pragma once
#include <string>
#include <vector>

namespace child {

struct Body {
  const char* name;
  int (*run)();  // gives the exit status
};
std::vector<Body>& bodies();
struct Registration {
  Registration(const char* name, int (*run)()) { bodies().push_back({name, run}); }
};

struct Result {
  int status = -1;     // exit status; 128 + signal when killed (a hang ends with SIGALRM)
  std::string output;  // stdout and stderr
};
// `environment` entries are NAME=VALUE and replace inherited ones.
Result run(const std::string& name, const std::vector<std::string>& environment = {});

// For main(): the exit status of `--child NAME`.
int run_body(const std::string& name);

}  // namespace child

#define CHILD(name)                                           \
  static int name();                                          \
  static const child::Registration name##_entry(#name, name); \
  static int name()
