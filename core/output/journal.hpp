#pragma once
// The record of an unfinished output, until its manifest replaces it.

#include <filesystem>
#include <fstream>
#include <functional>
#include <span>

#include "core/output/manifest.hpp"

namespace cosmo::core {

inline constexpr const char* kJournalName = "journal.jsonl";

/// DIRECTORY/journal.jsonl: a line with the request, then one for each finished file. An incomplete line is
/// ignored.
class Journal {
 public:
  /// Does not touch the file.
  explicit Journal(const std::filesystem::path& directory) : directory_(directory) {}

  bool exists() const { return std::filesystem::exists(path()); }
  /// Opens it to be read later, even if the file is removed meanwhile; the stream is not open if there is
  /// none. Throws Error{io} if it is not a regular file.
  std::ifstream open() const;
  /// Returns its content in the form of a manifest. Throws Error{format} if the first line is damaged.
  Json read(std::ifstream journal) const;
  Json read() const { return read(open()); }
  /// Replaces it with one that holds the request and these files.
  void begin(const Request& request, std::span<const FileRecord> files) const;
  /// Appends records of files and syncs it.
  void append(std::span<const FileRecord> records) const;
  void remove() const;

 private:
  std::filesystem::path path() const { return directory_ / kJournalName; }

  std::filesystem::path directory_;
};

/// Runs `read`, which takes values out of a directory's manifest or journal at `path`. Throws Error{format}
/// naming it if a value is missing or has the wrong type.
void reading_record(const std::filesystem::path& path, const std::function<void()>& read);

}  // namespace cosmo::core
