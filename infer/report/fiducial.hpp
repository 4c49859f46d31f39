#pragma once

#include <string>

#include "infer/report/report.hpp"

namespace cosmo::infer {

/// The section on bias and scatter at one point; empty if no parameter is the same in all universes.
std::string fiducial_section(const Report& report);

}  // namespace cosmo::infer
