#include "infer/doubt/farness_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/named.hpp"
#include "infer/doubt/familiarity.hpp"

namespace cosmo::infer {

namespace {

/// Validation universes that are so far that only kFar of them are farther.
double limit_of(std::size_t compared) {
  return std::floor(FarnessCheck::kFar * static_cast<double>(compared)) + 1;
}

}  // namespace

std::size_t compared_universes(Models models) {
  std::size_t fewest = 0;
  for (const Model& model : models) {
    if (model.features() == 0) continue;
    const std::size_t own = model.posterior->distance_of_universes->compared();
    fewest = fewest == 0 ? own : std::min(fewest, own);
  }
  return fewest;
}

double FarnessCheck::expected() const { return limit_of(compared) / (static_cast<double>(compared) + 1); }

bool FarnessCheck::unlikely() const {
  // The limit is an order statistic of the validation universes: the share beyond it has a beta distribution.
  const double mean = expected();
  const double variance =
      mean * (1 - mean) * (1 / static_cast<double>(universes) + 1 / (static_cast<double>(compared) + 2));
  return universes >= kFewest && share() > mean + 3 * std::sqrt(variance);
}

bool FarnessCheck::beyond_is_common() const {
  return static_cast<double>(beyond) > kRare * static_cast<double>(universes);
}

std::optional<FarnessCheck> check_farness(std::span<const nn::Farness> universes, std::size_t compared) {
  if (universes.empty() || compared == 0) return std::nullopt;
  FarnessCheck check{universes.size(), compared, 0, 0};
  for (const nn::Farness& universe : universes) {
    if (universe.rank <= FarnessCheck::kFar) ++check.far;
    if (universe.distance > FarnessCheck::kBeyond) ++check.beyond;
  }
  return check;
}

core::Json to_json(const FarnessCheck& check) {
  return {{"far", check.share()},
          {"expected_far", check.expected()},
          {"beyond", check.beyond},
          {"universes", check.universes},
          {"validation_universes", check.compared}};
}

std::string text_of(const FarnessCheck& check) {
  return fmt::format(
      "Distance from the training data: {:.1f} % of the universes are farther than 95 % of the {} validation universes; "
      "{:.1f} % are expected.\n",
      100 * check.share(), check.compared, 100 * check.expected());
}

std::vector<std::string> farness_warnings(std::span<const nn::Farness> universes, std::size_t compared,
                                          const std::vector<std::string>& names) {
  const std::optional<FarnessCheck> check = check_farness(universes, compared);
  if (!check || (!check->beyond_is_common() && !check->unlikely())) return {};
  constexpr const char* kMeaning = "the posterior was not fitted to universes like these and may be wrong.";
  double farthest = 0;
  for (const nn::Farness& universe : universes) farthest = std::max(farthest, universe.distance);
  if (check->universes == 1)
    return {fmt::format(
        "It is {:.2g} times as far from the training data, in the network's features, as the farthest of {} validation "
        "universes: {}",
        farthest, check->compared, kMeaning)};
  if (!check->beyond_is_common())
    return {fmt::format(
        "{:.0f} % of {} universes are farther from the training data, in the network's features, than 95 % of the {} "
        "validation universes: {}",
        100 * check->share(), check->universes, check->compared, kMeaning)};
  std::vector<std::string> beyond;
  for (std::size_t i = 0; i < universes.size(); ++i) {
    if (universes[i].distance > FarnessCheck::kBeyond && !names.empty()) beyond.push_back(names[i]);
  }
  const std::string named = beyond.empty() ? "" : fmt::format(" ({})", core::some_of(beyond));
  return {fmt::format(
      "{} of {} universes{} {} farther from the training data, in the network's features, than all {} validation "
      "universes, up to {:.2g} times as far as the farthest: {}",
      check->beyond, check->universes, named, check->beyond == 1 ? "is" : "are", check->compared, farthest,
      kMeaning)};
}

}  // namespace cosmo::infer
