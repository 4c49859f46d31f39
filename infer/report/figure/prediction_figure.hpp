#pragma once

#include <optional>
#include <string>

#include "dataset/measure/prediction_table.hpp"

namespace cosmo::infer {

/// Prediction against truth of one parameter as an SVG image, as Fig. 6 of Mathuriya et al. 2018: a point a
/// row, with its predicted standard deviation where there is one, the line of equality, and around it a band
/// of plus and minus `band` [physical units] if that is given. The same text for the same table.
std::string prediction_figure(const dataset::PredictionTable& table, std::size_t parameter,
                              std::optional<double> band);

}  // namespace cosmo::infer
