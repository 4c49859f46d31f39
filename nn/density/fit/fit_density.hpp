#pragma once

#include <cstdint>
#include <vector>

#include "nn/density/conditional_density.hpp"
#include "nn/density/coordinates.hpp"
#include "nn/density/fit/factor_training.hpp"

namespace cosmo::nn {

/// How a density is fitted; the defaults were chosen by experiment (docs/decisions/0031-posterior.md).
struct DensitySettings {
  int most_components = 3;  ///< in a factor, at most kMostInFactor
  int members = 4;          ///< fits that are averaged
  int folds = 5;            ///< parts of the cross-validation
  int most_rounds = 80;     ///< each has FactorTrainer::kSteps steps
  int patience = 6;         ///< rounds without a better loss of the held-out rows, after which a fit ends
  std::uint64_t seed = 0;   ///< for initial weights and the order of samples
  FactorTraining training = {};
};

/// What cross-validation has chosen for a factor, and the mean log density of held-out rows, in the factor's unit.
struct FactorChoice {
  int components, rounds;
  double held_out;  ///< by this choice
  double linear;    ///< by the linear factor that it began with
};

/// A fitted density and what is worth reporting of the fit.
struct DensityFit {
  ConditionalDensity density;
  std::vector<FactorChoice> factors;  ///< (P)
  /// Mean log q of the held-out rows to which the widening was fitted, in label units, by fits to the other folds: with
  /// the widening 1, and as fitted. The second is what to expect for fresh universes, or a little less.
  double held_out_narrow, held_out;
  /// The rms distance (P) of the posterior's mean from the truth, label units, of at most 1,024 of these rows.
  std::vector<double> held_out_error;
  double seconds;  ///< wall time
};

/// Fits a density to the pairs of training and validation universes together.
///
/// The numbers of components and of steps are chosen for each factor by cross-validation whose folds never split a
/// universe. The widening is the one of the greatest likelihood for the held-out rows of validation, or all held-out rows
/// if there is no validation. So a network's predictions for its own training universes may be better than those for
/// others: the validation rows among those fitted to make the density wider, and the widening does the rest. Measured
/// against what else was tried in docs/decisions/0031-posterior.md. The result does not depend on the number of threads.
///
/// Throws Error{config} for fewer than least_universes() universes or a parameter that does not vary, Error{numeric} for
/// a number that is not finite or a truth outside [-1, 1].
DensityFit fit_density(const DensityPairs& training, const DensityPairs& validation,
                       const DensitySettings& settings = {});

/// The fewest universes, training and validation together, that a density can be fitted to.
std::size_t least_universes(std::size_t features, std::size_t parameters);

}  // namespace cosmo::nn
