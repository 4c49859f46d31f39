#pragma once
// What counting one snapshot and counting a table of them share on the command line.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/output/disk_bill.hpp"
#include "core/output/manifest.hpp"
#include "core/parallel/node_memory.hpp"
#include "core/run/tool.hpp"
#include "histogram/snapshot/snapshot_suite.hpp"

namespace cosmo::dataset {

/// What a run takes, and what there is.
struct CountingBill {
  core::MemoryBill memory;
  core::DiskBill disk;
};

/// The option of a parameter: omega-m of omega_m.
std::string option_of(std::string_view parameter);
/// The parameters that options state.
StatedParameters stated_parameters(const core::Options& options);
/// --grid. Throws Error{config} if it is out of range.
int read_grid(const core::Options& options);

/// Adds the snapshots' files to the request's inputs: their content decides the id. Collective.
void add_inputs(const core::Invocation& run, const std::vector<std::string>& files, const std::string& target,
                core::Request& request);

/// Of `memory` a rank and `disk` [bytes]. Collective.
CountingBill bill_of(const core::Invocation& run, const std::string& target, std::uint64_t memory,
                     std::uint64_t disk);
/// The sentence with which a real run is refused, or nothing.
std::optional<core::Error> refusal(int grid, const CountingBill& bill, const std::string& target);

/// Tells which parameters have default values, for a `lack` of others.
void warn_of_assumptions(const core::Log& log, const std::vector<std::string>& assumed,
                         std::string_view lack);

}  // namespace cosmo::dataset
