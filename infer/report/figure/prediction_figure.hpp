#pragma once

#include <optional>
#include <string>

#include "dataset/measure/prediction_table.hpp"

namespace cosmo::infer {

/// Prediction against truth of one parameter as an SVG image, as Fig. 6 of Mathuriya et al. 2018: one point
/// per row, with its predicted standard deviation if there is one, the line of equality and, if `band`
/// [physical units] is given, a band of plus and minus that around it. The same text for the same table.
std::string prediction_figure(const dataset::PredictionTable& table, std::size_t parameter,
                              std::optional<double> band);

}  // namespace cosmo::infer
