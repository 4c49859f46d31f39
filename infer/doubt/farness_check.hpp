#pragma once
// Whether universes are farther from the training data than the validation universes, in the space of a network's features.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "infer/predict/distribution.hpp"

namespace cosmo::infer {

/// Number of validation universes that the models' distances are compared with, the fewest of several models; 0 if
/// none measures distances.
std::size_t compared_universes(Models models);

/// The universes of a split or a list.
struct FarnessCheck {
  std::size_t universes;  ///< number
  std::size_t compared;   ///< number of validation universes
  std::size_t far;        ///< universes of a rank of at most kFar
  std::size_t beyond;  ///< universes farther than kBeyond times the largest distance of a validation universe

  static constexpr double kFar = 0.05, kBeyond = 1.25, kRare = 0.01;
  static constexpr std::size_t kFewest = 20;
  /// The share of universes that are far, and what is expected of universes like those of the validation.
  double share() const { return static_cast<double>(far) / static_cast<double>(universes); }
  double expected() const;
  /// Whether the share is more than three standard deviations above what is expected, of kFewest universes or more:
  /// one in twenty is far by chance, so a single one does not cause doubt.
  bool unlikely() const;
  /// Whether more than one universe in a hundred is beyond.
  bool beyond_is_common() const;
};

/// The farness of universes (Distribution, UniversePrediction), of those that have one.
template <class Universes>
std::vector<nn::Farness> farness_of(const Universes& universes) {
  std::vector<nn::Farness> all;
  for (const auto& universe : universes) {
    if (universe.farness) all.push_back(*universe.farness);
  }
  return all;
}

/// Nothing if no distances were measured.
std::optional<FarnessCheck> check_farness(std::span<const nn::Farness> universes, std::size_t compared);

/// {"far", "expected_far", "beyond", "universes", "validation_universes"}
core::Json to_json(const FarnessCheck& check);
/// A line for the summary, with a newline.
std::string text_of(const FarnessCheck& check);
/// A sentence if more than rare universes are beyond, or unlikely many far; names (universes) or none.
std::vector<std::string> farness_warnings(std::span<const nn::Farness> universes, std::size_t compared,
                                          const std::vector<std::string>& names = {});

}  // namespace cosmo::infer
