#pragma once

#include <string>

#include "infer/report/report.hpp"

namespace cosmo::infer {

/// Whether all universes are at one point, where methods cannot be ranked.
bool at_a_point(const Report& report);

/// A figure of metrics.json's "fiducial" for a parameter, with as many digits as `error`, another one, needs: "0.0017 ± 0.0014".
std::string fiducial_cell(const Report& report, const std::string& name, const char* figure,
                          const char* error);

/// The section on bias and scatter at one point; empty if no parameter is the same in all universes.
std::string fiducial_section(const Report& report);

}  // namespace cosmo::infer
