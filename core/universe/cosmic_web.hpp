#pragma once
// The cosmic web: the class of each voxel, by how many axes matter there collapses along.

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/format/json.hpp"

namespace cosmo::core {

/// The classes, by the number of eigenvalues of the tidal tensor above the threshold.
inline constexpr std::array<std::string_view, 4> kWebClasses = {"void", "wall", "filament", "node"};

/// What the classes depend on besides the density. Sources: Hahn et al. 2007 (MNRAS 375, 489),
/// with threshold 0; Forero-Romero et al. 2009 (MNRAS 396, 1815), with others.
struct WebDefinition {
  double radius = 4;       ///< standard deviation of the Gaussian that smooths the density [Mpc/h]
  double threshold = 0.2;  ///< for eigenvalues, whose sum is the smoothed density contrast

  bool operator==(const WebDefinition&) const = default;
};

/// Adds web_radius_mpc_h and web_threshold to an object, if the definition is known.
inline void write_web(Json& json, const std::optional<WebDefinition>& web) {
  if (!web) return;
  json["web_radius_mpc_h"] = web->radius;
  json["web_threshold"] = web->threshold;
}
/// The definition in an object, if it has one.
inline std::optional<WebDefinition> read_web(const Json& json) {
  if (!json.contains("web_threshold")) return std::nullopt;
  return WebDefinition{json.at("web_radius_mpc_h"), json.at("web_threshold")};
}

/// How many voxels are of each class.
struct WebVolumes {
  std::array<std::uint64_t, kWebClasses.size()> voxels = {};

  bool operator==(const WebVolumes&) const = default;

  std::uint64_t sum() const { return std::accumulate(voxels.begin(), voxels.end(), std::uint64_t{0}); }
  /// The share of a class.
  double share(std::size_t c) const { return static_cast<double>(voxels[c]) / static_cast<double>(sum()); }
  std::vector<double> shares() const {
    std::vector<double> all;
    for (std::size_t c = 0; c < voxels.size(); ++c) all.push_back(share(c));
    return all;
  }
  /// "void 62.10 %, wall 28.20 %, filament 8.90 %, node 0.80 %"
  std::string text() const {
    std::string text;
    for (std::size_t c = 0; c < voxels.size(); ++c)
      text += fmt::format("{}{} {:.2f} %", c == 0 ? "" : ", ", kWebClasses[c], 100 * share(c));
    return text;
  }
};

}  // namespace cosmo::core
