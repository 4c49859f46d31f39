#pragma once
// How far a universe is from those that a network was trained on, in the space of its features.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/hdf5/hdf5.hpp"

namespace cosmo::nn {

/// Features of universes, row by row.
struct FeatureRows {
  std::size_t width = 0;
  std::vector<double> values;  ///< (rows, width)

  std::size_t rows() const { return width == 0 ? 0 : values.size() / width; }
  std::span<const double> row(std::size_t i) const { return std::span(values).subspan(i * width, width); }
};

/// How far one universe is.
struct Farness {
  double
      rank;  ///< the share of validation universes that are farther: even in [0, 1] for a universe like those
  double distance;  ///< in units of the largest distance of a validation universe
};

/// The Mahalanobis distance from the mean of the training universes, and those of the validation universes to compare it
/// with. The covariance, of features in units of their deviations, is shrunk towards the identity by the
/// share of Ledoit & Wolf 2004 (J. Multivariate Anal. 88, 365), so that it can be inverted for few universes.
class FeatureDistance {
 public:
  /// Nothing if no feature varies, or there are fewer than kLeastRows rows of either.
  static std::optional<FeatureDistance> fit(const FeatureRows& training, const FeatureRows& validation);
  static constexpr std::size_t kLeastRows = 8;

  std::size_t width() const { return mean_.size(); }
  /// Number of validation universes.
  std::size_t compared() const { return distances_.size(); }
  Farness of(std::span<const double> features) const;

  /// Writes it as the group, or reads it, for features of any number. Throws Error{format} naming the file if a value
  /// cannot be.
  void write(core::hdf5::File& file, const std::string& group) const;
  static FeatureDistance read(const core::hdf5::File& file, const std::string& path,
                              const std::string& group);

 private:
  FeatureDistance() = default;
  double distance(std::span<const double> features) const;

  std::vector<double> mean_;  ///< (F)
  std::vector<double>
      whitening_;  ///< lower triangle (F, F): whitening (features - mean) has the covariance 1
  std::vector<double> distances_;  ///< distances of the validation universes, ascending
};

}  // namespace cosmo::nn
