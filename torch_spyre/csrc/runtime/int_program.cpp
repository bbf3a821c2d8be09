#include "runtime/int_program.h"

#include <algorithm>
#include <stdexcept>

namespace spyre::runtime {
namespace {

constexpr std::size_t kStackLimit = 64;

// How many values an operation takes from the stack.
std::int64_t argument_count(std::int64_t op, std::int64_t operand) {
  switch (op) {
    case IntProgram::kConstant:
    case IntProgram::kSymbol:
      return 0;
    case IntProgram::kAdd:
    case IntProgram::kMul:
    case IntProgram::kMin:
    case IntProgram::kMax:
    case IntProgram::kAnd:
    case IntProgram::kOr:
      return operand;
    case IntProgram::kWhere:
      return 3;
    default:
      return 2;
  }
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == 0) throw std::domain_error("division by zero in a size expression");
  const std::int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

std::int64_t power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  for (; exponent > 0; --exponent) result *= base;
  return result;
}

std::int64_t fold(std::int64_t op, const std::int64_t* args, std::int64_t count) {
  std::int64_t result = args[0];
  for (std::int64_t i = 1; i < count; ++i) {
    switch (op) {
      case IntProgram::kAdd:
        result += args[i];
        break;
      case IntProgram::kMul:
        result *= args[i];
        break;
      case IntProgram::kMin:
        result = std::min(result, args[i]);
        break;
      case IntProgram::kMax:
        result = std::max(result, args[i]);
        break;
      case IntProgram::kAnd:
        result = result && args[i];
        break;
      default:
        result = result || args[i];
        break;
    }
  }
  return result;
}

std::int64_t binary(std::int64_t op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case IntProgram::kFloorDiv:
      return floor_div(a, b);
    case IntProgram::kMod:
      return a - floor_div(a, b) * b;
    case IntProgram::kCeilDiv:
      return -floor_div(-a, b);
    case IntProgram::kPow:
      return power(a, b);
    case IntProgram::kLShift:
      return a << b;
    case IntProgram::kRShift:
      return a >> b;
    case IntProgram::kEq:
      return a == b;
    case IntProgram::kNe:
      return a != b;
    case IntProgram::kLt:
      return a < b;
    default:
      return a <= b;
  }
}

}  // namespace

IntProgram::IntProgram(std::vector<std::int64_t> code, std::size_t symbol_count)
    : code_(std::move(code)) {
  if (code_.empty() || code_.size() % 2 != 0)
    throw std::invalid_argument("size program must be pairs of opcode and operand");
  std::int64_t depth = 0;
  for (std::size_t i = 0; i < code_.size(); i += 2) {
    const std::int64_t op = code_[i], operand = code_[i + 1];
    if (op < 0 || op >= kOpCount) throw std::invalid_argument("size program: unknown opcode");
    if (op == kSymbol && (operand < 0 || static_cast<std::size_t>(operand) >= symbol_count))
      throw std::invalid_argument("size program reads a symbol that is not bound");
    const std::int64_t taken = argument_count(op, operand);
    if (taken > depth || (op > kSymbol && taken < 1))
      throw std::invalid_argument("size program takes more values than it made");
    depth += 1 - taken;
    if (depth > static_cast<std::int64_t>(kStackLimit))
      throw std::invalid_argument("size program is deeper than 64 values");
  }
  if (depth != 1) throw std::invalid_argument("size program must leave one value");
}

std::int64_t IntProgram::run(const std::int64_t* symbols) const {
  std::int64_t stack[kStackLimit];
  std::int64_t depth = 0;
  for (std::size_t i = 0; i < code_.size(); i += 2) {
    const std::int64_t op = code_[i], operand = code_[i + 1];
    if (op == kConstant) {
      stack[depth++] = operand;
    } else if (op == kSymbol) {
      stack[depth++] = symbols[operand];
    } else {
      const std::int64_t taken = argument_count(op, operand);
      depth -= taken;
      std::int64_t* args = stack + depth;
      if (op == kWhere) {
        args[0] = args[0] ? args[1] : args[2];
      } else if (op <= kMax || op == kAnd || op == kOr) {
        args[0] = fold(op, args, taken);
      } else {
        args[0] = binary(op, args[0], args[1]);
      }
      ++depth;
    }
  }
  return stack[0];
}

}  // namespace spyre::runtime
