#pragma once
// The sections of a report on what was run, what it cost and where it is recorded.

#include "infer/report/report.hpp"

namespace cosmo::infer {

/// Every setting of the four stages.
std::string settings_section(const Report& report, const std::vector<Ancestor>& ancestors);
std::string costs_section(const Report& report, const std::vector<Ancestor>& ancestors);
/// Identities and hashes of the manifests.
std::string provenance_section(const Report& report, const std::vector<Ancestor>& ancestors);

}  // namespace cosmo::infer
