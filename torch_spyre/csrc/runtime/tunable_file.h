// The results file: "Validator,NAME,VALUE" lines, then "operator,parameters,solution,milliseconds".
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "runtime/tunable.h"

namespace spyre::runtime {

struct ResultsFile {
  std::vector<TunedResult> results;
  bool exists = false;
  std::string refusal;  // why nothing of it may be used; empty: fine
};

ResultsFile read_results_file(const std::string& filename, const Validators& expected);
// Replaces the file at once. Returns why it failed; empty when it did not.
std::string write_results_file(const std::string& filename, const Validators& validators,
                               const std::vector<TunedResult>& results);
// Appends whole lines with one write, so that processes may share a file.
std::string append_to_file(const std::string& filename, const std::string& lines);
std::string line_of(const TunedResult& result);
std::string header_of(const Validators& validators);

}  // namespace spyre::runtime
