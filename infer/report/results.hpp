#pragma once
// The sections of a report on how well the universes were predicted.

#include "infer/report/report.hpp"

namespace cosmo::infer {

std::string errors_section(const Report& report, const std::vector<html::Figure>& figures);
std::string predictions_section(const Report& report, const std::vector<html::Figure>& figures);
/// Empty without "paired", as the next one without "uncertainty".
std::string paired_section(const Report& report);
std::string uncertainty_section(const Report& report, const std::vector<html::Figure>& figures);
std::string measures_section(const Report& report);

/// The standard deviation [physical units] that the P(k) forecast has for a parameter, if there is one.
std::optional<double> forecast_sigma(const core::Json& metrics, const std::string& parameter);

}  // namespace cosmo::infer
