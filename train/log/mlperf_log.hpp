#pragma once
// The log that MLPerf HPC's rules and tools read: lines ":::MLLOG {JSON}".

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/format/json.hpp"
#include "train/log/run_directory.hpp"

namespace cosmo::train {

/// Writes a training's events to a file, each as it happens. Source of keys and order: mlcommons/logging,
/// compliance_checker/hpc_1.0.0.
class MlperfLog {
 public:
  /// Creates or replaces the file; with an empty path, nothing is written. Throws Error{io} naming the file.
  explicit MlperfLog(std::filesystem::path path);
  /// Ends the run as aborted if it has not been ended.
  ~MlperfLog();
  MlperfLog(const MlperfLog&) = delete;
  MlperfLog& operator=(const MlperfLog&) = delete;

  // Each writes one line, and throws Error{io} on failure.
  void point(std::string_view key, const core::Json& value,
             const core::Json& metadata = core::Json::object());
  /// Writes the event `what`_start, as in "epoch_start".
  void start(std::string_view what, const core::Json& metadata = core::Json::object());
  void stop(std::string_view what, const core::Json& metadata = core::Json::object());
  /// Ends the run: status "success" or "aborted".
  void stop_run(bool success);

 private:
  void write(std::string_view event_type, const std::string& key, const core::Json& value,
             const core::Json& metadata);

  std::filesystem::path path_;
  std::ofstream file_;
  bool running_ = false;
};

/// Throws Error{config} if a log at `path` would destroy something, because it is in one of the run's
/// directories or would replace a file that is not such a log; Error{io} if it could not be written.
void check_log_path(const std::filesystem::path& path, const std::vector<RunDirectory>& directories);

}  // namespace cosmo::train
