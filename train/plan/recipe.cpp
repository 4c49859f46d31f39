#include "train/plan/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "core/output/manifest.hpp"

namespace cosmo::train {

namespace {

using Defaults = std::map<std::string, std::string>;

/// The winner on the toolkit's universes of one setting (docs/decisions).
const Defaults kStandard = {{"optimizer", "adamw"}, {"loss", "mse"},    {"global-batch", "32"},
                            {"decay", "cosine"},    {"clip-norm", "1"}, {"average", "0.99"},
                            {"choice-epochs", "5"}, {"augment", "on"},  {"smooth", "off"}};

/// Mathuriya et al. 2018, III-B.
const Defaults kPaper = {{"network", "cosmoflow"}, {"optimizer", "larc-adam"}, {"loss", "mae"},
                         {"global-batch", "16"},   {"decay", "linear"},        {"clip-norm", "off"},
                         {"average", "off"},       {"choice-epochs", "1"},     {"augment", "turns"},
                         {"smooth", "off"}};

/// For universes of several settings: smoothed so far that the network holds on other simulators (docs/decisions).
const Defaults kRobust = [] {
  Defaults defaults = kStandard;
  defaults["smooth"] = "5.5";
  return defaults;
}();

const std::array<Recipe, 3> kRecipes = {
    {{"standard", kStandard, 0.05, false}, {"robust", kRobust, 0.05, true}, {"paper", kPaper, 0, false}}};

/// The recipe of a training in --output, or the first one. Trainings from before there was a choice do not
/// record theirs: it was "paper".
std::string begun_with(const core::Options& options) {
  std::string name = kRecipes.front().name;
  if (const auto begun = config_to_continue(options)) {
    const core::Json recipe = begun->value("recipe", core::Json("paper"));
    if (recipe.is_string()) name = recipe;
  }
  const bool known = std::ranges::find(kRecipes, name, &Recipe::name) != kRecipes.end();
  return known ? name : kRecipes.front().name;
}

}  // namespace

std::optional<core::Json> config_of_begun(const std::filesystem::path& output) {
  const std::filesystem::path manifest = output / core::kManifestName;
  if (!std::filesystem::exists(manifest)) return {};
  try {
    const core::Json json = core::read_json(manifest);
    if (json.contains("config") && json["config"].is_object()) return json["config"];
  } catch (const core::Error&) {
    // A damaged manifest is refused, or replaced, like that of any other stage.
  }
  return {};
}

std::optional<core::Json> config_to_continue(const core::Options& options) {
  if (options.flag("force") || !options.given("output")) return {};
  return config_of_begun(options.text("output"));
}

void declare_recipe(core::Options& options) {
  options.begin_group(core::kEveryDay);
  options.add(
      "recipe", std::nullopt,
      "defaults of the options marked below: standard; robust, standard but --smooth, for answers that hold on "
      "other simulators, from universes of several settings (others are refused); or paper, those of the 2018 paper "
      "[standard; for a training already begun: its own]",
      core::names_in(kRecipes));
}

std::string by_recipe(const std::string& option) {
  std::string text;
  for (const Recipe& recipe : kRecipes) {
    if (recipe.several_settings && recipe.options.at(option) == kStandard.at(option)) continue;
    text += fmt::format("{}{}: {}", text.empty() ? " [" : "; ", recipe.name, recipe.options.at(option));
  }
  return text + "]";
}

const Recipe& find_recipe(const core::Options& options) {
  if (options.given("recipe")) return options.entry("recipe", kRecipes);
  const std::string begun = begun_with(options);
  return *std::ranges::find(kRecipes, begun, &Recipe::name);
}

core::Options with_recipe(const core::Options& options) {
  return options.with_defaults(find_recipe(options).options);
}

}  // namespace cosmo::train
