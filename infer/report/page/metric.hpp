#pragma once
// Numbers of metrics.json as HTML. Each is an element whose attribute data-metric names its place there, as
// "network.omega_m.relative_error", so that a program can compare the two.

#include <optional>
#include <string>
#include <vector>

#include "core/format/json.hpp"

namespace cosmo::infer {

/// Keys from the top of metrics.json downwards; in a list, the number of an entry.
using MetricPath = std::vector<std::string>;

/// The value there, or nullptr if there is none.
const core::Json* find_metric(const core::Json& metrics, const MetricPath& path);

/// The number there, if it is one, which null is not; JSON has null for "not a number" and for infinity.
std::optional<double> number_at(const core::Json& metrics, const MetricPath& path);

/// Decimals with which an error has two digits, 0 to 12; 0 for an error that is rounding, 4 if there is none.
int decimals_for(std::optional<double> standard_error, double value = 0);

/// The number with `decimals` decimals, "—" if it is not a number; empty if nothing is there.
std::string metric(const core::Json& metrics, const MetricPath& path, int decimals);

/// The whole number of `things`, a plural with s, there: "32 universes", "1 universe".
std::string counted(const core::Json& metrics, const MetricPath& path, const std::string& things);

/// The number and, where its key with "_se" is there, its standard error: "0.0189 ± 0.0018".
std::string estimate(const core::Json& metrics, MetricPath path, int decimals);

}  // namespace cosmo::infer
