#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "core/format/json.hpp"
#include "core/run/options.hpp"

namespace cosmo::train {

/// Defaults of options that belong together.
struct Recipe {
  std::string name;
  std::map<std::string, std::string> options;
  double warmup;          ///< share of the epochs over which the learning rate rises
  bool several_settings;  ///< whether it is for universes that differ in their settings
};

/// Declares --recipe.
void declare_recipe(core::Options& options);
/// The defaults of an option, for its help: " [standard: …; paper: …]".
std::string by_recipe(const std::string& option);
/// The recipe that --recipe names or, without it, that of the training in --output, if one was begun there
/// and --force does not replace it. Throws Error{usage} for other names.
const Recipe& find_recipe(const core::Options& options);
/// The settings of the training begun in `output`; nothing if there is none or its manifest is damaged.
std::optional<core::Json> config_of_begun(const std::filesystem::path& output);
/// Those of the training in --output; nothing if --force replaces it, too.
std::optional<core::Json> config_to_continue(const core::Options& options);
/// Returns the options with the recipe's defaults.
core::Options with_recipe(const core::Options& options);

}  // namespace cosmo::train
