#pragma once

#include <cstddef>
#include <vector>

#include "nn/density/coordinates.hpp"

namespace cosmo::nn {

/// What one factor is fitted to: its inputs, and its parameter in the factor's unit.
struct FactorSamples {
  std::size_t inputs;
  std::vector<double> x;             ///< coordinates before the parameter's (samples, inputs)
  std::vector<double> y, low, high;  ///< the parameter, and where the range cuts it off (samples)

  std::size_t size() const { return y.size(); }
};

/// The samples of each factor (P), from pairs in these coordinates.
std::vector<FactorSamples> factor_samples(const Coordinates& coordinates, const DensityPairs& pairs);

/// A factor with one component whose centre is linear in the inputs and whose deviation is constant, as outputs of a
/// FactorNetwork (cut_mixture.hpp).
struct LinearFactor {
  std::vector<double> slopes;  ///< (inputs)
  double centre, log_deviation;
};

/// The linear factor of the greatest likelihood under a weak prior, its deviation corrected for the number of slopes. For a broad parameter
/// it differs from least squares, whose centres are drawn to the middle of the range: the cut does that already.
///
/// Found by Fisher scoring with the outer product of the samples' derivatives (Berndt et al. 1974, Annals of Economic and
/// Social Measurement 3, 653), damped.
LinearFactor fit_linear_factor(const FactorSamples& samples);

}  // namespace cosmo::nn
