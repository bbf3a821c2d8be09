#include "child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace child {

std::vector<Body>& bodies() {
  static std::vector<Body> all;
  return all;
}

int run_body(const std::string& name) {
  alarm(50);  // a hang becomes a failure
  for (const Body& body : bodies()) {
    if (name == body.name) return body.run();
  }
  std::fprintf(stderr, "no child test named %s\n", name.c_str());
  return 99;
}

Result run(const std::string& name, const std::vector<std::string>& environment) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    for (const std::string& entry : environment) putenv(strdup(entry.c_str()));
    execl("/proc/self/exe", "device_tests", "--child", name.c_str(), static_cast<char*>(nullptr));
    _exit(98);
  }
  close(ends[1]);
  Result result;
  char buffer[4096];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof(buffer))) > 0;) {
    result.output.append(buffer, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace child
