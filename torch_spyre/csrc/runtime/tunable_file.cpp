#include "runtime/tunable_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

namespace spyre::runtime {
namespace {

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
  return fields;
}

std::string check(const Validators& expected, const std::map<std::string, std::string>& found) {
  for (const auto& [name, value] : expected) {
    const auto row = found.find(name);
    if (row == found.end()) return "it has no validator " + name;
    if (row->second != value) {
      return "its results are for " + name + " '" + row->second + "', this is '" + value + "'";
    }
  }
  for (const auto& [name, value] : found) {
    const bool known = std::any_of(expected.begin(), expected.end(),
                                   [&](const auto& row) { return row.first == name; });
    if (!known) return "it has a validator " + name + " that this version does not know";
  }
  return "";
}

// Why a line of results cannot be used; fills `out` otherwise.
std::string parse(const std::vector<std::string>& fields, TunedResult* out) {
  if (fields.size() < 3 || fields.size() > 4) {
    return "expected operator,parameters,solution,milliseconds";
  }
  const auto key = GemmKey::parse(fields[0], fields[1]);
  if (!key) return "no such product: " + fields[0] + "," + fields[1];
  out->key = *key;
  out->solution = find_solution(fields[2]);
  if (out->solution == nullptr) return "no such solution: " + fields[2];
  if (!out->solution->applies(*key) && out->solution != &default_solution()) {
    return "solution " + fields[2] + " does not apply to " + fields[0] + "," + fields[1];
  }
  if (fields.size() == 4) {
    const std::string& text = fields[3];
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), out->milliseconds);
    if (error != std::errc() || end != text.data() + text.size() || !(out->milliseconds >= 0)) {
      return "not a time in milliseconds: " + text;
    }
  }
  return "";
}

std::string system_error(const std::string& what, const std::string& filename) {
  return "cannot " + what + " '" + filename + "': " + std::strerror(errno);
}

}  // namespace

ResultsFile read_results_file(const std::string& filename, const Validators& expected) {
  ResultsFile file;
  std::ifstream stream(filename);
  if (!stream) {
    file.refusal = system_error("read", filename);
    return file;
  }
  file.exists = true;
  std::map<std::string, std::string> validators;
  std::size_t number = 0;
  const auto refuse = [&](const std::string& why) {
    file.results.clear();
    file.refusal = "results file '" + filename + "' is not used: " + why;
  };
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    const auto fields = fields_of(line);
    if (fields[0] == "Validator") {
      if (fields.size() != 3) {
        refuse("line " + std::to_string(number) + ": expected Validator,NAME,VALUE");
        return file;
      }
      validators[fields[1]] = fields[2];
      continue;
    }
    TunedResult result;
    if (const std::string why = parse(fields, &result); !why.empty()) {
      refuse("line " + std::to_string(number) + ": " + why);
      return file;
    }
    file.results.push_back(result);
  }
  if (const std::string why = check(expected, validators); !why.empty()) refuse(why);
  return file;
}

std::string header_of(const Validators& validators) {
  std::string text;
  for (const auto& [name, value] : validators) text += "Validator," + name + "," + value + "\n";
  return text;
}

std::string line_of(const TunedResult& result) {
  char time[32];
  std::snprintf(time, sizeof(time), "%.6g", result.milliseconds);
  return result.key.name() + "," + result.key.parameters() + "," + result.solution->name + "," +
         time + "\n";
}

std::string write_results_file(const std::string& filename, const Validators& validators,
                               const std::vector<TunedResult>& results) {
  std::string text = header_of(validators);
  for (const TunedResult& result : results) text += line_of(result);
  const std::string staged = filename + "." + std::to_string(::getpid());
  std::remove(staged.c_str());
  if (const std::string why = append_to_file(staged, text); !why.empty()) return why;
  if (std::rename(staged.c_str(), filename.c_str()) != 0) {
    const std::string why = system_error("write", filename);
    std::remove(staged.c_str());
    return why;
  }
  return "";
}

std::string append_to_file(const std::string& filename, const std::string& lines) {
  const int file = ::open(filename.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return system_error("write", filename);
  std::string why;
  if (::write(file, lines.data(), lines.size()) != static_cast<ssize_t>(lines.size())) {
    why = system_error("write", filename);
  }
  ::close(file);
  return why;
}

}  // namespace spyre::runtime
