#pragma once
// The outputs that an inference goes back to, as far as they can still be found.

#include <filesystem>
#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "core/output/manifest.hpp"

namespace cosmo::infer {

/// An output that something was made from.
struct Ancestor {
  core::InputRecord record;  ///< its path is seen from the directory of the inference
  core::Json manifest;       ///< null if it cannot be read any more, or if these are other programs' files
  core::Json run;            ///< run.json, or null
  bool unchanged = false;    ///< the manifest has the recorded sha256

  /// "generate", "shard", "train"; empty without a manifest.
  std::string stage() const;
};

/// The inputs, their inputs and so on, each once, nearest first. Never throws for files that are missing.
std::vector<Ancestor> trace(const std::filesystem::path& output,
                            const std::vector<core::InputRecord>& inputs);

}  // namespace cosmo::infer
