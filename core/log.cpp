#include "core/log.hpp"

#include <unistd.h>

#include <cstdio>

#include "core/error.hpp"

namespace cosmo::core {

void Log::say(std::string_view line) const {
  constexpr std::size_t kMost = std::size_t{1} << 14;  // the plan of a deep network can be that long
  const std::string plain = printable(line, kMost) + "\n";
  if (kept_ != nullptr)
    kept_->remarks += plain;
  else
    fmt::print(stderr, "{}", plain);
}

void Log::result(std::string_view text) const {
  if (!speaks_) return;
  const std::string plain = printable(text);
  if (kept_ != nullptr) {
    kept_->results += plain;
    return;
  }
  const bool written =
      std::fwrite(plain.data(), 1, plain.size(), stdout) == plain.size() && std::fflush(stdout) == 0;
  ensure(written, Fault::io, "Standard output cannot be written: check where it is redirected to.");
}

Progress::Progress(const Log& log, std::string unit, std::int64_t total)
    : log_(log), unit_(std::move(unit)), total_(total), terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::Progress(const Log& log, std::string unit, std::int64_t total, double work)
    : Progress(log, std::move(unit), total) {
  work_ = work;
}

Progress::~Progress() {
  if (log_.shows_progress() && terminal_ && done_ > 0) fmt::print(stderr, "\n");
}

void Progress::advance_by(std::int64_t units, double work) {
  work_done_ += work;
  advance(units);
}

void Progress::advance(std::int64_t units, std::string_view remark) {
  done_ += units;
  if (!log_.shows_progress() || done_ == 0) return;
  if (done_ < total_ && since_shown_.seconds() < (terminal_ ? 0.2 : 10.0)) return;
  since_shown_.restart();
  const double elapsed = since_start_.seconds();
  const double rate = static_cast<double>(done_) / elapsed;
  const std::string pace = rate >= 1        ? fmt::format("{:.1f} per second", rate)
                           : rate * 60 >= 1 ? fmt::format("{:.1f} per minute", rate * 60)
                                            : fmt::format("{:.1f} per hour", rate * 3600);
  const double left =
      work_ > 0 ? elapsed * (work_ / work_done_ - 1) : static_cast<double>(total_ - done_) / rate;
  const std::string time =
      done_ < total_ ? format_duration(left) + " left" : "in " + format_duration(elapsed);
  const std::string line = fmt::format("{} / {} {}, {}, {}{}{}", done_, total_, unit_, pace, time,
                                       remark.empty() ? "" : ", ", remark);
  if (terminal_) {
    constexpr const char* kNoWrap = "\033[?7l";  // a narrow terminal cuts the line off
    constexpr const char* kWrap = "\033[?7h";
    fmt::print(stderr, "\r\033[K{}{}{}", kNoWrap, printable(line), kWrap);
    std::fflush(stderr);
  } else {
    log_.say(line);
  }
}

void Progress::remark(std::string_view line) {
  if (!log_.shows_progress()) return;
  if (terminal_) fmt::print(stderr, "\r\033[K");
  log_.say(line);
}

std::string format_duration(double seconds) {
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  if (seconds < 60) return fmt::format("{:.0f} s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string format_bytes(double bytes) {
  if (bytes < 1e3) return fmt::format("{:.0f} B", bytes);
  if (bytes < 1e6) return fmt::format("{:.1f} kB", bytes / 1e3);
  if (bytes < 1e9) return fmt::format("{:.1f} MB", bytes / 1e6);
  if (bytes < 1e12) return fmt::format("{:.2f} GB", bytes / 1e9);
  return fmt::format("{:.2f} TB", bytes / 1e12);
}

std::string ranks_and_threads(int ranks, int threads) {
  return fmt::format("{} rank{} x {} thread{}", ranks, ranks == 1 ? "" : "s", threads,
                     threads == 1 ? "" : "s");
}

}  // namespace cosmo::core
