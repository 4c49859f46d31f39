#pragma once
// Errors: one exception type, one sentence each, mapped to the exit codes that docs/architecture.md lists.

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace cosmo::core {

/// What went wrong, with the exit code of the tool that stops because of it.
enum class Fault {
  usage = 2,      ///< the command line
  config = 3,     ///< values that cannot work, or not together
  io = 4,         ///< the operating system said no: files, locks, memory
  format = 5,     ///< a file that is not what it should be
  numeric = 6,    ///< a computation left its range
  internal = 70,  ///< a bug of ours
  stopped = 75,   ///< asked to stop before all was done: the same command goes on
};

/// A failure that a user can read: one sentence that names the file or option and the remedy.
class Error : public std::runtime_error {
 public:
  /// What is no UTF-8 in the sentence, as the name of a file may be, is spelt out.
  explicit Error(Fault fault, const std::string& sentence, bool agreed = false);

  Fault fault() const { return fault_; }
  int exit_code() const { return static_cast<int>(fault_); }
  /// True if every rank of the run throws this same error, so that all can leave in order.
  bool agreed() const { return agreed_; }

 private:
  Fault fault_;
  bool agreed_;
};

/// The exception that is being handled, as an Error: the system's refusals as Error{io}, what nobody foresaw
/// as Error{internal}. Call inside a catch block.
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
