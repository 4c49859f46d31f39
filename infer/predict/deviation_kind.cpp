#include "infer/predict/deviation_kind.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "core/error.hpp"

namespace cosmo::infer {

namespace {

constexpr std::string_view kPredicted = "predicted deviation, calibrated";
constexpr std::string_view kPredictedBars = "Bars: plus and minus one standard deviation as predicted.";

/// Those for labels, for several models, and for each loss that predicts a density.
constexpr std::array<DeviationKind, 5> kKinds = {{
    {"posterior", "deviation of the posterior",
     "A density of the parameters was fitted to the network's predictions for its training and validation universes, and "
     "evaluated at those for each universe.",
     "Points: mean of the posterior. Bars: plus and minus its standard deviation."},
    {"validation_rms", "rms error",
     "The network predicts no uncertainty: each universe is given the rms error on the validation universes.",
     "Bars: plus and minus the rms error on the validation universes, the same for all."},
    {"ensemble", "deviation of the ensemble", "The spread of several networks is part of the uncertainty.",
     kPredictedBars},
    {"gaussian", kPredicted, "The network predicts a mean and a covariance for each sub-volume.",
     kPredictedBars},
    {"mixture", kPredicted,
     "The network predicts a mixture of Gaussians for each sub-volume: posteriors may have several peaks or tails.",
     kPredictedBars},
}};

}  // namespace

const DeviationKind& deviation_kind(Models models) {
  const nn::Output& output = models.front().output;
  const bool posterior = models.front().posterior || models.front().joint;
  const std::string one = posterior                          ? "posterior"
                          : output.calibration_values() == 0 ? "validation_rms"
                                                             : output.loss_name();
  const auto kind = std::ranges::find(kKinds, models.size() > 1 && !models.front().joint ? "ensemble" : one,
                                      &DeviationKind::key);
  core::ensure(kind != kKinds.end(), core::Fault::internal, "Deviations of --loss {} have no description.",
               one);
  return *kind;
}

}  // namespace cosmo::infer
