#pragma once
// What a new request takes over from an output directory that already holds something.

#include <filesystem>
#include <string>
#include <vector>

#include "core/output/manifest.hpp"

namespace cosmo::core {

/// How to treat a directory that already holds something.
struct Overwrite {
  /// Remove the files of a different output of the same stage, and damaged files of the requested one.
  bool force = false;
  /// Config keys that may differ from those of the output being continued.
  std::vector<std::string> extendable = {};
  /// The remedy that the error about a different output proposes besides another directory.
  std::string remedy = "--force to replace it";
  /// Prefix of the paths of files that are expensive to make again, if not empty. It is an error without
  /// `force` if one is damaged or all are lost.
  std::string precious = {};
};

/// What was found in a directory: the content of its manifest, or of its journal in the same form. Any of it
/// may be damaged (Json::exception).
struct Found {
  std::filesystem::path directory;
  Json record;

  /// The listed files that are in the directory with the recorded size, and with the recorded content if
  /// `check_content`.
  std::vector<FileRecord> whole_files(bool check_content) const;
  /// Paths of the listed files that are not among `kept`.
  std::vector<std::filesystem::path> files_besides(const std::vector<FileRecord>& kept) const;
};

/// What a request takes over.
struct Adoption {
  bool same;  ///< the requested output was found; otherwise it is replaced and nothing is taken over
  std::vector<FileRecord> files;
};

/// Decides what to take over; changes nothing. Throws Error{config} naming the setting that differs if
/// another output was found, unless `force`; Error{format} if precious files are damaged or all lost.
Adoption adopt(const Found& found, const Request& request, const Overwrite& overwrite, bool check_content);

/// Whether other stages accept the record as a manifest, and it matches what the request foresees.
bool is_sound(const Found& found, const Request& request);

}  // namespace cosmo::core
