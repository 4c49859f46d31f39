#pragma once
// What an output in the making notes of itself, until its manifest replaces that.

#include <filesystem>
#include <fstream>
#include <functional>
#include <span>

#include "core/output/manifest.hpp"

namespace cosmo::core {

inline constexpr const char* kJournalName = "journal.jsonl";

/// DIRECTORY/journal.jsonl: a line with the request, then one for each finished file. A torn line counts for
/// nothing.
class Journal {
 public:
  /// Touches nothing.
  explicit Journal(const std::filesystem::path& directory) : directory_(directory) {}

  bool exists() const { return std::filesystem::exists(path()); }
  /// To be read later, whatever becomes of the file's name; not open if there is none. Throws Error{io} if it
  /// is no regular file.
  std::ifstream open() const;
  /// Its content in the form of a manifest. Throws Error{format} if the first line is damaged.
  Json read(std::ifstream journal) const;
  Json read() const { return read(open()); }
  /// Replaces it by one that holds the request and these files.
  void begin(const Request& request, std::span<const FileRecord> files) const;
  /// Adds files and syncs them.
  void append(std::span<const FileRecord> records) const;
  void remove() const;

 private:
  std::filesystem::path path() const { return directory_ / kJournalName; }

  std::filesystem::path directory_;
};

/// Runs `read`, which takes values out of a directory's manifest or journal at `path`. Throws Error{format}
/// naming it where they are not what they should be.
void reading_record(const std::filesystem::path& path, const std::function<void()>& read);

}  // namespace cosmo::core
