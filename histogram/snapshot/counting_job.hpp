#pragma once
// Command-line handling shared by counting one snapshot and counting a table of them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/output/manifest.hpp"
#include "core/run/stage.hpp"
#include "histogram/snapshot/snapshot_suite.hpp"

namespace cosmo::histogram {

/// The option name of a parameter: omega-m for omega_m.
std::string option_of(std::string_view parameter);

/// Throws Error{usage} if an override without a value leaves one of the parameters `unstated`.
void ensure_stated(const GadgetReading& reading, const std::vector<std::string>& unstated);

/// The parameters that options state.
StatedParameters stated_parameters(const core::Options& options);
/// --grid. Throws Error{config} if it is out of range.
int read_grid(const core::Options& options);

/// Adds the snapshots' files to the request's inputs: their content decides the id. Collective.
void add_inputs(const core::Invocation& run, const std::vector<std::string>& files, const std::string& target,
                core::Request& request);

/// Needs of counts on `grid` voxels per side, for which a rank allocates `memory` [bytes]; the caller fills
/// in the disk space.
core::Needs needs_of(int grid, std::uint64_t memory);

/// Throws Error{config} with the remedy if two files have the same content.
void refuse_same_content(const std::vector<core::InputRecord>& files, std::string_view remedy);

/// Warns that the parameters `assumed` get default values; `lack` is the reason.
void warn_of_assumptions(const core::Log& log, const std::vector<std::string>& assumed,
                         std::string_view lack);

}  // namespace cosmo::histogram
