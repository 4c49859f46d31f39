#include "train/log/mlperf_log.hpp"

#include <chrono>
#include <string>

#include "core/error.hpp"
#include "core/file/files.hpp"

namespace cosmo::train {

namespace fs = std::filesystem;
using core::ensure;
using core::Fault;
using core::Json;

namespace {

constexpr std::string_view kLineStart = ":::MLLOG";
constexpr fmt::format_string<std::string> kUnwritable =
    "{} of --mllog cannot be written: check the directory.";

/// Whether a file holds something other than an MLPerf log; devices and pipes hold nothing.
bool is_of_others(const fs::path& path) {
  if (!fs::is_regular_file(path) || fs::is_empty(path)) return false;
  std::string start(kLineStart.size(), '\0');
  std::ifstream(path).read(start.data(), static_cast<std::streamsize>(start.size()));
  return start != kLineStart;
}

}  // namespace

void check_log_path(const fs::path& path, const std::vector<RunDirectory>& directories) {
  try {
    ensure_outside("mllog", path, directories);
    ensure(!is_of_others(path), Fault::config,
           "{} of --mllog is not an MLPerf log and would be replaced by one: choose another file.",
           path.string());
    ensure(!fs::is_fifo(path), Fault::io,
           "{} of --mllog is a pipe, and opening one waits for its reader: choose a file.", path.string());
    ensure(!fs::is_directory(path) && fs::is_directory(fs::absolute(path).parent_path()) &&
               core::may_write(path),
           Fault::io, kUnwritable, path.string());
  } catch (const fs::filesystem_error& error) {
    core::fail(Fault::io, "{} of --mllog cannot be examined ({}): choose another file.", path.string(),
               error.code().message());
  }
}

MlperfLog::MlperfLog(std::filesystem::path path) : path_(std::move(path)) {
  if (path_.empty()) return;
  file_.open(path_);
  ensure(file_.is_open(), Fault::io, kUnwritable, path_.string());
}

MlperfLog::~MlperfLog() {
  if (!running_) return;
  try {
    stop_run(false);
  } catch (const core::Error&) {  // the file ends after the last line that could be written
  }
}

void MlperfLog::point(std::string_view key, const Json& value, const Json& metadata) {
  write("POINT_IN_TIME", std::string(key), value, metadata);
}

void MlperfLog::start(std::string_view what, const Json& metadata) {
  if (what == "run") running_ = !path_.empty();
  write("INTERVAL_START", fmt::format("{}_start", what), nullptr, metadata);
}

void MlperfLog::stop(std::string_view what, const Json& metadata) {
  write("INTERVAL_END", fmt::format("{}_stop", what), nullptr, metadata);
}

void MlperfLog::stop_run(bool success) {
  running_ = false;
  stop("run", {{"status", success ? "success" : "aborted"}});
}

void MlperfLog::write(std::string_view event_type, const std::string& key, const Json& value,
                      const Json& metadata) {
  if (path_.empty()) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const nlohmann::ordered_json line = {
      {"namespace", ""},
      {"time_ms", std::chrono::duration_cast<std::chrono::milliseconds>(now).count()},
      {"event_type", event_type},
      {"key", key},
      {"value", value},
      {"metadata", metadata}};
  file_ << kLineStart << ' ' << line.dump() << std::endl;
  ensure(file_.good(), Fault::io, "{} of --mllog cannot be written: is the disk full?", path_.string());
}

}  // namespace cosmo::train
