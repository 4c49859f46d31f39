#pragma once
// Numbers of metrics.json as HTML. Each is an element whose attribute data-metric tells its place there, as
// "network.omega_m.relative_error", so that a program can compare the two.

#include <string>
#include <vector>

#include "core/json.hpp"

namespace cosmo::infer {

/// Keys from the top of metrics.json downwards.
using MetricPath = std::vector<std::string>;

/// The value there, or nullptr if there is none.
const core::Json* find_metric(const core::Json& metrics, const MetricPath& path);

/// Decimals with which an error has two digits, 0 to 6; 0 for an error that is rounding, 4 if there is none.
int decimals_for(const core::Json* standard_error);

/// The number with so many decimals, "–" for null; empty if it is not there.
std::string metric(const core::Json& metrics, const MetricPath& path, int decimals);

/// The number and, where its key with "_se" is there, its standard error: "0.0189 ± 0.0018".
std::string estimate(const core::Json& metrics, MetricPath path, int decimals);

}  // namespace cosmo::infer
