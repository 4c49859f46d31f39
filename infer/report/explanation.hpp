#pragma once
// What a reader has to know of the methods to read the tables of their errors.

#include "infer/report/report.hpp"

namespace cosmo::infer {

/// What each of the report's methods does, a line each, and what its asterisk is.
std::string methods_text(const Report& report);

}  // namespace cosmo::infer
