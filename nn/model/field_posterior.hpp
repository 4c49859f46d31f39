#pragma once
// How far a predicted field is from the truth, wavenumber by wavenumber.

#include <string>
#include <string_view>
#include <vector>

#include "core/format/json.hpp"

namespace cosmo::nn {

/// The Gaussian posterior of each mode of a field, given the prediction p: mean gain(k) p, and variance power_left(k) P(k), where P
/// is the power of the truth. From the modes of validation universes in bins of k. What a prediction lacks is, like noise,
/// relative to P a power of the universe's own variance: power_left/(1 − power_left) grows as variance^slope.
struct FieldPosterior {
  std::vector<double> k;           ///< mean of each bin's modes [1 / unit of the voxel], increasing
  std::vector<double> gain;        ///< Σ Re(p t*) / Σ|p|²
  std::vector<double> gain_slope;  ///< its logarithm's, against that of the variance
  std::vector<double> power_left;  ///< Σ|t − gain p|² / Σ|t|², 0 to 1, of a universe with this
  double variance = 1;             ///< variance of the true field on the voxels
  double slope = 0;
  int universes = 0;

  /// Both at a wavenumber, in a universe whose field has this variance: between bins the gain is linear, and so is the
  /// logarithm of the power's odds; beyond them, they are those of the first and the last.
  double gain_at(double wavenumber, double of_variance) const;
  double power_left_at(double wavenumber, double of_variance) const;
};

/// Whether it describes predictions of this quantity, with this number of channels: initial densities are Gaussian.
bool has_field_posterior(std::string_view quantity, int channels);

void to_json(core::Json& json, const FieldPosterior& posterior);
/// One that check() refuses, if a value is missing or of another type.
void from_json(const core::Json& json, FieldPosterior& posterior);

/// Throws Error{format} naming `source` unless the numbers can be those of a fit.
void check(const FieldPosterior& posterior, const std::string& source);

}  // namespace cosmo::nn
