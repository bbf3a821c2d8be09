// A test runner in one header: TEST(name) { CHECK(...); }. No framework, so that layer 0 needs g++
// only.
#pragma once
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

namespace check {

struct Test {
  const char* name;
  void (*body)();
};
inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}
inline int& failures() {
  static int count = 0;
  return count;
}
struct Registration {
  Registration(const char* name, void (*body)()) { tests().push_back({name, body}); }
};

inline void fail(const char* file, int line, const std::string& what) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
  ++failures();
}

template <class A, class B>
void equal(const A& a, const B& b, const char* text, const char* file, int line) {
  if (a == b) return;
  std::ostringstream out;
  out << "not equal: " << text << ": " << a << " and " << b;
  fail(file, line, out.str());
}

inline void contains(const std::string& text, const std::string& part, const char* file, int line) {
  if (text.find(part) == std::string::npos) fail(file, line, "'" + part + "' is not in: " + text);
}

}  // namespace check

#define TEST(name)                                            \
  static void name();                                         \
  static const check::Registration name##_entry(#name, name); \
  static void name()
#define CHECK(condition) \
  if (!(condition)) check::fail(__FILE__, __LINE__, "failed: " #condition)
#define CHECK_EQ(a, b) check::equal((a), (b), #a " == " #b, __FILE__, __LINE__)
#define CHECK_CONTAINS(text, part) check::contains((text), (part), __FILE__, __LINE__)
#define CHECK_OK(status)                                               \
  if (const auto status_of_check = (status); !status_of_check.is_ok()) \
  check::fail(__FILE__, __LINE__, std::string(#status) + ": " + status_of_check.message)
#define CHECK_CODE(status, wanted)                                             \
  if (const auto status_of_check = (status); status_of_check.code != (wanted)) \
  check::fail(__FILE__, __LINE__,                                              \
              std::string(#status " is not " #wanted ": ") + status_of_check.message)
