#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/file/file_state.hpp"
#include "core/format/json.hpp"
#include "core/parallel/communicator.hpp"

namespace cosmo::core {

/// Files of one or more inputs, as they were when they were first looked at. Some are hashed first and read much later.
class WatchedFiles {
 public:
  /// Notes a file as it is now, unless it has been noted. Comes before the first look into it. Throws as state_of().
  void note(const std::filesystem::path& path) { note(path, state_of(path)); }
  /// Notes a file as it was, unless it has been noted.
  void note(const std::filesystem::path& path, const FileState& before) {
    states_.emplace(path.string(), before);
  }
  void add(const WatchedFiles& others);
  /// Adds the other ranks' notes. Collective.
  void share(const Communicator& comm);
  /// Throws Error{format} naming the file if it has changed since it was noted. Comes after it has been read.
  void ensure_unchanged(const std::filesystem::path& path) const;
  /// The same for all files.
  void ensure_unchanged() const;

  friend void to_json(Json& json, const WatchedFiles& files);
  friend void from_json(const Json& json, WatchedFiles& files);

 private:
  std::map<std::string, FileState> states_;  ///< by the paths that were noted
};

void to_json(Json& json, const WatchedFiles& files);
void from_json(const Json& json, WatchedFiles& files);

}  // namespace cosmo::core
