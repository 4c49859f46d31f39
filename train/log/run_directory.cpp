#include "train/log/run_directory.hpp"

#include "core/error.hpp"

namespace cosmo::train {

namespace fs = std::filesystem;

void ensure_outside(std::string_view option, const fs::path& path,
                    const std::vector<RunDirectory>& directories) try {
  const auto real = [](const fs::path& any) { return fs::weakly_canonical(fs::absolute(any)); };
  for (const RunDirectory& directory : directories) {
    core::ensure(*real(path).lexically_relative(real(directory.path)).begin() == "..", core::Fault::config,
                 "{} of --{} is inside {} of --{}: choose another place.", path.string(), option,
                 directory.path.string(), directory.option);
  }
} catch (const fs::filesystem_error& error) {
  core::fail(core::Fault::io, "{} of --{} cannot be examined ({}): choose another place.", path.string(),
             option, error.code().message());
}

}  // namespace cosmo::train
