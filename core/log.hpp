#pragma once
// All output of a tool. Progress and remarks go to standard error, results to standard output.

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/printable.hpp"
#include "core/timer.hpp"

namespace cosmo::core {

/// The output of a run, kept by a program that does not want it printed.
struct Transcript {
  std::string results, remarks;
};

/// Prints for the whole run: one rank speaks, the others are silent.
class Log {
 public:
  /// `speaks`: this rank prints. `quiet`: only warnings, errors and results are printed. If `kept` is given,
  /// output goes there instead of being printed; it must outlive this object.
  Log(bool speaks, bool quiet, Transcript* kept = nullptr) : speaks_(speaks), quiet_(quiet), kept_(kept) {}

  /// A remark, on standard error.
  template <class... Args>
  void info(fmt::format_string<Args...> text, Args&&... args) const {
    if (speaks_ && !quiet_) say(fmt::format(text, std::forward<Args>(args)...));
  }
  /// A warning that the user should act on, on standard error, even when quiet.
  template <class... Args>
  void warn(fmt::format_string<Args...> text, Args&&... args) const {
    if (speaks_) say("warning: " + one_line(fmt::format(text, std::forward<Args>(args)...)));
  }
  /// The requested result, on standard output. Throws Error{io} if it cannot be written.
  void result(std::string_view text) const;
  /// A line on standard error that is always printed.
  void say(std::string_view line) const;

  bool shows_progress() const { return speaks_ && !quiet_; }

 private:
  bool speaks_;
  bool quiet_;
  Transcript* kept_;
};

/// Counts finished units of long work and shows rate and time left: one live line on a terminal,
/// otherwise a line every ten seconds.
class Progress {
 public:
  /// `unit`: plural noun for what is counted; `total`: their number; `log` must outlive this.
  Progress(const Log& log, std::string unit, std::int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// The same for units that take different times: the time left follows from the share of `work` that is done.
  Progress(const Log& log, std::string unit, std::int64_t total, double work);

  /// Counts `units` more; `remark` is printed after the figures.
  void advance(std::int64_t units = 1, std::string_view remark = {});
  /// The same for units that are this part of the work.
  void advance_by(std::int64_t units, double work);
  /// Prints a permanent line above the live line.
  void remark(std::string_view line);

 private:
  const Log& log_;
  std::string unit_;
  std::int64_t total_;
  std::int64_t done_ = 0;
  double work_ = 0, work_done_ = 0;  ///< 0: units are alike
  bool terminal_;
  Timer since_start_;
  Timer since_shown_;
};

/// "48 s", "3 min 20 s" or "2 h 5 min".
std::string format_duration(double seconds);

/// "1 rank x 2 threads".
std::string ranks_and_threads(int ranks, int threads);
/// "512 B", "28.2 MB" or "6.44 GB" (powers of ten).
std::string format_bytes(double bytes);

}  // namespace cosmo::core
