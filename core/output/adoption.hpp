#pragma once
// How much of what stands in an output directory a new request takes over.

#include <filesystem>
#include <string>
#include <vector>

#include "core/output/manifest.hpp"

namespace cosmo::core {

/// What to do with a directory that already holds something.
struct Overwrite {
  /// Remove the files of a different output of the same stage, and damaged files of this one.
  bool force = false;
  /// Config keys that may differ from those of the output that is continued.
  std::vector<std::string> extendable = {};
  /// What the refusal of a different output proposes beside another directory.
  std::string remedy = "--force to replace it";
  /// Files whose paths begin with this, if it is not empty, cannot be made again without great loss: a
  /// damaged one, or the loss of all of them, is an error unless by force.
  std::string precious = {};
};

/// What was found in a directory: the content of its manifest, or of its journal in the same form, all of
/// which may be damaged (Json::exception).
struct Found {
  std::filesystem::path directory;
  Json record;

  /// The listed files that are in the directory with their size, and with their content if that is to be
  /// checked.
  std::vector<FileRecord> whole_files(bool check_content) const;
  /// Where the listed files are that are not among `kept`.
  std::vector<std::filesystem::path> files_besides(const std::vector<FileRecord>& kept) const;
};

/// What a request takes over.
struct Adoption {
  bool same;  ///< it is this output; if not, it is to be replaced, and nothing is taken over
  std::vector<FileRecord> files;
};

/// Decides; changes nothing. Throws Error{config} if it is another output, naming the setting that differs,
/// unless that is to be replaced by force; Error{format} if precious files are damaged or all lost.
Adoption adopt(const Found& found, const Request& request, const Overwrite& overwrite, bool check_content);

/// Whether other stages accept the record as a manifest, and it is the one that the request foresees.
bool is_sound(const Found& found, const Request& request);

}  // namespace cosmo::core
