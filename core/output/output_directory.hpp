#pragma once
// The directory that a stage writes: locked while the stage works, continued after an interruption, completed
// by its manifest.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/file/file_lock.hpp"
#include "core/log.hpp"
#include "core/output/adoption.hpp"
#include "core/output/journal.hpp"
#include "core/output/manifest.hpp"
#include "core/parallel/communicator.hpp"

namespace cosmo::core {

/// The units of an output, such as universes, that a process makes: first <= i < last. Several processes may
/// make disjoint slices of one output at the same time, on any nodes.
struct Slice {
  static constexpr std::int64_t kEverything = std::int64_t{1} << 40;

  std::int64_t first = 0;
  std::int64_t last = kEverything;

  bool is_everything() const { return first == 0 && last == kEverything; }
};

/// What a directory already holds of a request.
struct OutputState {
  Manifest manifest;          ///< the request and its files that are there
  std::uint64_t leaving = 0;  ///< bytes of existing files that would be removed
  bool up_to_date = false;    ///< this exact request is finished
};

/// An output directory under construction.
///
/// Each file is written as NAME.part, synced, renamed, and recorded in journal.jsonl; the manifest comes last
/// and replaces the journal. One of the two always exists, so whatever stops the program, every recorded file
/// is whole and a rerun continues from it. A manifest that other stages would not accept, or that differs
/// from what the request foresees, was altered: it is written again, keeping those of its files whose content
/// is intact. Processes that make slices share the journal, and the one that finds all files there writes the
/// manifest.
class OutputDirectory {
 public:
  /// Creates or opens `path` for `request`. Collective over comm, which must outlive this.
  /// Throws, on every rank, Error{config} if the directory holds another output, naming the setting that
  /// differs, or holds files of another origin, or is an input; Error{io} if another process is writing
  /// there, naming it; Error{format} if precious files are damaged or all lost. Overwriting by force locks
  /// the whole directory, whatever the slice.
  OutputDirectory(const Communicator& comm, const Log& log, std::filesystem::path path, Request request,
                  const Overwrite& overwrite, const Slice& slice = {});
  /// What is at `path` for `request`, as the root sees it: other processes may be at work there, and a file
  /// system may show their changes to different nodes at different times. Touches and locks nothing.
  /// Collective. Throws as the constructor does, except for locks.
  static OutputState inspect(const Communicator& comm, std::filesystem::path path, Request request,
                             const Overwrite& overwrite);
  OutputDirectory(const OutputDirectory&) = delete;
  OutputDirectory& operator=(const OutputDirectory&) = delete;

  /// True if this exact request is finished already.
  bool up_to_date() const { return up_to_date_; }
  const std::filesystem::path& path() const { return path_; }
  /// The request, its files that are there, and the details of a manifest that was found.
  const Manifest& manifest() const { return manifest_; }
  /// The record of a finished file, or nullptr.
  const FileRecord* find(std::string_view relative) const { return manifest_.find(relative); }

  /// Where to write the file that seal(relative) will publish.
  std::filesystem::path part_path(const std::string& relative) const;
  /// The same, after creating its folder and removing what a killed run left there. Unless it is sealed, the
  /// file is removed with this object. Called by one rank.
  std::filesystem::path part(const std::string& relative) const;
  /// Publishes a file written at part(relative): hashes, syncs and renames it. Called by one rank.
  FileRecord seal(const std::string& relative) const;
  /// Publishes a file of another output under its name there: a link to it, or a copy on another disk. A link survives a crash of the
  /// machine after sync_file_system(). Called by one rank. Throws Error{format} if its content is not what `file` records,
  /// Error{io} if it can be neither linked nor copied.
  FileRecord link(const std::filesystem::path& from, const FileRecord& file) const;
  /// Records published files; every rank passes its own and receives all. Collective.
  void record(std::span<const FileRecord> records);
  /// Writes one file from the root rank through `write(path of the .part file)`, and records it. Collective.
  /// Throws an agreed Error{io} naming the file if it cannot be written, and leaves no part of it.
  void add(const std::string& relative, const std::function<void(const std::filesystem::path&)>& write);
  /// The same for a file of this text. Collective.
  void add_text(const std::string& relative, const std::string& text);
  /// Drops a file from the record; it is removed once a manifest without it is published.
  void retire(const std::string& relative);

  /// Writes the manifest with the stage's own fields, and run.json from `run_facts` and the time. Collective.
  void finish(const std::string& tool, const Json& details, const Json& run_facts);
  /// Writes the manifest that the request foresees, as finish() does, and returns true if all of its files
  /// are there, made here or by other processes; otherwise find() shows which are there. Collective.
  bool finish_if_all(const std::string& tool, const Json& run_facts);

 private:
  OutputDirectory(const Communicator& comm, std::filesystem::path path, Request request);
  std::uint64_t inspect(const Overwrite& overwrite);
  void open(const Log& log, const Overwrite& overwrite, const Slice& slice);
  void share_state();
  FileLock journal_lock() const;
  std::filesystem::path make_place(const std::string& relative) const;
  void refuse_inputs() const;
  Found found_here(Json record) const { return {path_, std::move(record)}; }
  Json read_manifest() const;
  bool adopt_manifest(const Found& found, const Overwrite& overwrite);
  void open_read_only(const Overwrite& overwrite);
  void open_manifest(const Log& log, const Overwrite& overwrite);
  void remove_retired() const;
  void adopt_journal(const Found& found, const Overwrite& overwrite);
  void open_journal(const Log& log, const Overwrite& overwrite);
  void learn_from_others();
  void publish(const Json& run_facts);
  void remove_all_but_kept(const Found& found) const;
  void refuse_foreign_files() const;

  /// Unfinished files, which are removed with this object.
  struct Parts {
    ~Parts();
    std::mutex mutex;
    std::set<std::filesystem::path> paths;
  };

  const Communicator& comm_;
  std::filesystem::path path_;
  Journal journal_;
  Manifest manifest_;
  std::vector<FileRecord> retired_;
  bool up_to_date_ = false;
  std::optional<FileLock> lock_;  ///< lock on the slice, on the root rank
  mutable Parts parts_;           ///< destroyed, with their files, while the lock is held
};

}  // namespace cosmo::core
