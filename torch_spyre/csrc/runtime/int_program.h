// Integer expressions of a plan (plan/expr.py), compiled to a postfix program that a launch
// evaluates with the sizes of the call.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace spyre::runtime {

// Postfix code: pairs of (opcode, operand). Opcodes and their numbers are those of
// spyre_inductor/launch/int_program.py; division and modulo are Python's (floor).
class IntProgram {
 public:
  enum Op : std::int64_t {
    kConstant = 0,  // operand: the value
    kSymbol = 1,    // operand: position in the symbol table
    kAdd,
    kMul,
    kMin,
    kMax,  // operand: number of arguments
    kFloorDiv,
    kMod,
    kCeilDiv,
    kPow,
    kLShift,
    kRShift,
    kEq,
    kNe,
    kLt,
    kLe,
    kAnd,
    kOr,     // operand: number of arguments
    kWhere,  // condition, then, else
    kOpCount,
  };

  IntProgram() : code_{kConstant, 0} {}
  // Throws std::invalid_argument when the code underflows, reads past `symbol_count` symbols, or
  // leaves anything but one value.
  IntProgram(std::vector<std::int64_t> code, std::size_t symbol_count);

  // `symbols` must have symbol_count entries. Throws std::domain_error on division by zero.
  std::int64_t evaluate(const std::int64_t* symbols) const {
    if (code_.size() == 2) return code_[0] == kConstant ? code_[1] : symbols[code_[1]];
    return run(symbols);
  }
  bool is_constant() const { return code_.size() == 2 && code_[0] == kConstant; }

 private:
  std::int64_t run(const std::int64_t* symbols) const;
  std::vector<std::int64_t> code_;
};

}  // namespace spyre::runtime
