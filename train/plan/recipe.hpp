#pragma once

#include <map>
#include <string>

#include "core/run/options.hpp"

namespace cosmo::train {

/// Defaults of options that belong together.
struct Recipe {
  std::string name;
  std::map<std::string, std::string> options;
  double warmup;  ///< share of the epochs over which the learning rate rises
};

/// Declares --recipe.
void declare_recipe(core::Options& options);
/// The defaults of an option, for its help: " [standard: …; paper: …]".
std::string by_recipe(const std::string& option);
/// The recipe that --recipe names or, without it, that of the training in --output, if one was begun there
/// and --force does not replace it. Throws Error{usage} for other names, Error{format} for a damaged
/// manifest.
const Recipe& find_recipe(const core::Options& options);
/// Returns the options with the recipe's defaults.
core::Options with_recipe(const core::Options& options);

}  // namespace cosmo::train
