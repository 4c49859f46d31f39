#pragma once
// What a reader has to know about the methods to read the tables of their errors.

#include "infer/report/report.hpp"

namespace cosmo::infer {

/// What each of the report's methods does, one line each, and what an asterisk means.
std::string methods_text(const Report& report);

/// What the forecast of P(k) in the metrics is and assumes.
std::string forecast_text(const Report& report);

/// Why regressions or the forecast of P(k) are missing; empty if they are, or if "forecast" is not in the
/// metrics.
std::string missing_text(const Report& report);

}  // namespace cosmo::infer
