// Runs every TEST, or those whose name contains an argument; `--child NAME` runs one CHILD.
#include <cstring>

#include "check.h"
#include "child.h"

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--child") == 0) return child::run_body(argv[2]);
  int ran = 0;
  for (const check::Test& test : check::tests()) {
    bool chosen = argc < 2;
    for (int i = 1; i < argc; ++i) chosen |= std::strstr(test.name, argv[i]) != nullptr;
    if (!chosen) continue;
    const int before = check::failures();
    test.body();
    ++ran;
    std::printf("%s %s\n", check::failures() == before ? "ok  " : "FAIL", test.name);
    std::fflush(stdout);
  }
  std::printf("%d tests, %d failed checks\n", ran, check::failures());
  return check::failures() == 0 && ran > 0 ? 0 : 1;
}
