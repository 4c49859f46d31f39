#pragma once
// What else a run writes stays out of the directories that it reads and makes.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cosmo::train {

/// A directory of the run, and the option that names it.
struct RunDirectory {
  std::string option;
  std::filesystem::path path;
};

/// Throws Error{config} if the path that --`option` gives is one of the directories or inside of one,
/// Error{io} if they cannot be looked at.
void ensure_outside(std::string_view option, const std::filesystem::path& path,
                    const std::vector<RunDirectory>& directories);

}  // namespace cosmo::train
