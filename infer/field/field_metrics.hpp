#pragma once
// What the spectra of all universes of a split say about predicted fields.

#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "infer/field/field_spectra.hpp"

namespace cosmo::infer {

/// A way to predict the field: the network, or a baseline.
struct FieldMethod {
  std::vector<Spectra> universes;  ///< those of each universe
  double smoothing = 0;            ///< R of a standard reconstruction, in the unit of the box; 0 for others
};

/// r(k) and T(k) of all modes of all universes, in bins that have modes, with errors by bootstrap over universes.
struct FieldCurve {
  std::vector<double> r, r_se, t, t_se;
  double smoothing = 0;
};

struct FieldMetrics {
  std::string quantity;
  std::size_t universes = 0;
  std::vector<double> k;
  FieldCurve network, counts, standard;
  /// The network's r less the standard reconstruction's, and its error over the same universes.
  std::vector<double> gain, gain_se;
};

/// The figures of the network, of the counts themselves and of the best of several standard reconstructions, that with the
/// largest mean r(k).
FieldMetrics field_metrics(const std::string& quantity, const std::vector<double>& k,
                           const FieldMethod& network, const FieldMethod& counts,
                           const std::vector<FieldMethod>& reconstructions);

/// "fields" of metrics.json.
core::Json to_json(const FieldMetrics& metrics);
/// A table of r(k).
std::string text_of(const FieldMetrics& metrics);
/// What came out, in a sentence.
std::string outcome_of(const FieldMetrics& metrics);

}  // namespace cosmo::infer
