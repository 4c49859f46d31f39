#pragma once
// Whether the posteriors of modes are as wide as they state.

#include <array>
#include <cstddef>
#include <vector>

#include "core/format/json.hpp"
#include "core/fourier/field_spectra.hpp"
#include "infer/initial/stated_spectrum.hpp"
#include "nn/model/field_posterior.hpp"

namespace cosmo::infer {

/// The modes of a bin, k and -k both counted, and those whose truth is inside the region of their posterior with this
/// probability.
struct CoverSums {
  static constexpr double kLevel = 0.6827;
  double inside = 0, modes = 0;

  void add(const CoverSums& more);
  std::array<double, 1> figures() const { return {inside / modes}; }
};

/// Those of each bin of `spectra`, which has measured a universe with this spectrum: |t − a p|² <= −ln(1 − level) s P/V.
std::vector<CoverSums> covered(const fourier::FieldSpectra& spectra, const nn::FieldPosterior& posterior,
                               const StatedSpectrum& spectrum);

/// Shares of modes inside, by bin and of all, with errors by bootstrap over universes.
struct ModeCoverage {
  std::vector<double> share, share_se;
  double all = 0, all_se = 0;
};

/// From those of each universe, in bins that have modes.
ModeCoverage coverage_of(const std::vector<std::vector<CoverSums>>& universes);

/// "coverage" in metrics.json.
core::Json to_json(const ModeCoverage& coverage);
/// What came out, in a sentence.
std::string outcome_of(const ModeCoverage& coverage);

}  // namespace cosmo::infer
