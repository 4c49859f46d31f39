#pragma once
// Keeps other files that a run writes out of the directories that it reads and makes.

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

/// Throws Error{config} if the path given by --`option` is one of the directories or inside one, Error{io} if
/// they cannot be examined.
void ensure_outside(std::string_view option, const std::filesystem::path& path,
                    const std::vector<RunDirectory>& directories);

}  // namespace cosmo::train
