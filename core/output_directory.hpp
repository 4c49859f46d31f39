#pragma once
// The directory that a stage writes: locked while it works, continued after an interruption, sealed by its
// manifest.

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/communicator.hpp"
#include "core/file_lock.hpp"
#include "core/log.hpp"
#include "core/manifest.hpp"

namespace cosmo::core {

/// What to do with a directory that already holds something.
struct Overwrite {
  bool force = false;  ///< remove the files of a different output, and damaged files of this one
  std::vector<std::string> extendable = {};  ///< config keys that a continuation may change
};

/// An output directory in the making. All members but path(), find() and seal() are collective over comm.
///
/// Each file is written as NAME.part, synced, renamed, and noted in journal.jsonl; the manifest comes last
/// and replaces the journal. So whatever stops the program, every file present is whole and a rerun goes on
/// from it.
class OutputDirectory {
 public:
  /// Creates or opens `path` for `request`. Throws (on every rank) Error{config} if it holds another output,
  /// naming the setting that differs, and Error{io} if another process is writing there, naming it.
  OutputDirectory(const Communicator& comm, const Log& log, std::filesystem::path path, Request request,
                  const Overwrite& overwrite);
  OutputDirectory(const OutputDirectory&) = delete;
  OutputDirectory& operator=(const OutputDirectory&) = delete;

  /// True if this very request is finished already.
  bool up_to_date() const { return up_to_date_; }
  const std::filesystem::path& path() const { return path_; }
  /// The manifest or journal found here, with its details; empty if the directory is new.
  const Manifest& manifest() const { return manifest_; }
  /// The record of a finished file, or nullptr.
  const FileRecord* find(std::string_view relative) const { return manifest_.find(relative); }

  /// Where to write the file that seal(relative) will publish. Its folder is created.
  std::filesystem::path part(const std::string& relative) const;
  /// Publishes a file written at part(relative): sync, rename, hash. Called by one rank.
  FileRecord seal(const std::string& relative) const;
  /// Notes published files; every rank gives its own and every rank learns all.
  void record(std::span<const FileRecord> records);
  /// Writes one file from the root rank through `write(path of the .part file)`, and records it.
  void add(const std::string& relative, const std::function<void(const std::filesystem::path&)>& write);
  /// Forgets a file; it is removed once a manifest without it stands.
  void retire(const std::string& relative);

  /// Writes the manifest with the stage's own fields, and run.json.
  void finish(const std::string& tool, const Json& details, const Json& run_facts);

 private:
  void open(const Log& log, const Overwrite& overwrite);
  void adopt(const Json& found, const std::string& where, const Overwrite& overwrite);
  void clear();
  void begin_journal() const;
  void append_to_journal(const Json& line) const;

  const Communicator& comm_;
  std::filesystem::path path_;
  Manifest manifest_;
  std::vector<std::string> retired_;
  bool up_to_date_ = false;
  std::optional<FileLock> lock_;  ///< on the root rank
};

}  // namespace cosmo::core
