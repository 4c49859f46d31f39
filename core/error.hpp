#pragma once
// Errors: one exception type with a one-sentence message, mapped to the exit codes in docs/reference/exit-codes.md.

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace cosmo::core {

/// Kind of failure. Its value is the exit code of the tool that stops because of it.
enum class Fault {
  usage = 2,      ///< invalid command line
  config = 3,     ///< values that cannot work, alone or in combination
  io = 4,         ///< operating-system failure: files, locks, memory
  format = 5,     ///< damaged or unexpected file
  numeric = 6,    ///< computation out of range
  internal = 70,  ///< bug in the toolkit
  stopped = 75,   ///< stopped on request before completion: the same command continues
};

/// A failure with a message for the user: one sentence that names the file or option and the remedy.
class Error : public std::runtime_error {
 public:
  /// The sentence is kept as one_line() writes it, since it may quote names of files and values.
  explicit Error(Fault fault, const std::string& sentence, bool agreed = false);

  Fault fault() const { return fault_; }
  int exit_code() const { return static_cast<int>(fault_); }
  /// True if every rank of the run throws this same error, so that all can leave in order.
  bool agreed() const { return agreed_; }

 private:
  Fault fault_;
  bool agreed_;
};

/// Converts the exception being handled to an Error: operating-system failures become Error{io}, unexpected
/// exceptions Error{internal}. Call inside a catch block.
Error current_error();

/// Throws Error{fault} with the formatted sentence.
template <class... Args>
[[noreturn]] void fail(Fault fault, fmt::format_string<Args...> sentence, Args&&... args) {
  throw Error(fault, fmt::format(sentence, std::forward<Args>(args)...));
}

/// Throws Error{fault} with the formatted sentence unless condition holds.
template <class... Args>
void ensure(bool condition, Fault fault, fmt::format_string<Args...> sentence, Args&&... args) {
  if (!condition) fail(fault, sentence, std::forward<Args>(args)...);
}

}  // namespace cosmo::core
