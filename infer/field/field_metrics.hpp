#pragma once
// What the spectra of all universes of a split say about predicted fields.

#include <optional>
#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "core/fourier/field_spectra.hpp"
#include "infer/initial/mode_coverage.hpp"

namespace cosmo::infer {

/// A way to predict the field: the network, or a baseline.
struct FieldMethod {
  std::string name;
  double smoothing = 0;  ///< R of a reconstruction, in the unit of the box; 0 for others
  std::vector<fourier::Spectra> universes = {};  ///< those of each universe
};

/// r(k) and T(k) of all modes of all universes, in bins that have modes, with errors by bootstrap over universes.
struct FieldCurve {
  std::vector<double> r, r_se, t, t_se;
  double smoothing = 0;
};

/// A method without a network.
struct FieldBaseline {
  std::string name;
  FieldCurve curve;
  std::vector<double> gain, gain_se;  ///< the network's r less its r, and the error over the same universes
};

struct FieldMetrics {
  std::string quantity;
  std::size_t universes = 0;
  std::vector<double> k;
  FieldCurve network;
  std::vector<FieldBaseline> baselines;  ///< one for each name
  std::optional<ModeCoverage> coverage =
      {};  ///< how often the network's posterior holds, if it has one and the spectra are known

  /// That with the largest mean r(k).
  const FieldBaseline& best() const;
};

/// The figures of the network, the first of the methods, and of the others; of those of one name, of that with the largest mean
/// r(k).
FieldMetrics field_metrics(const std::string& quantity, const std::vector<double>& k,
                           const std::vector<FieldMethod>& methods);

/// "fields" of metrics.json.
core::Json to_json(const FieldMetrics& metrics);
/// "standard, R = 5"
std::string title_of(const FieldBaseline& baseline);
/// A table of r(k).
std::string text_of(const FieldMetrics& metrics);
/// What came out, in a sentence.
std::string outcome_of(const FieldMetrics& metrics);

}  // namespace cosmo::infer
