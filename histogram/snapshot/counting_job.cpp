#include "histogram/snapshot/counting_job.hpp"

#include <algorithm>
#include <map>

#include "core/error.hpp"
#include "core/machine/memory.hpp"
#include "histogram/snapshot/snapshot_counts.hpp"

namespace cosmo::histogram {

using core::Fault;

void ensure_stated(const GadgetReading& reading, const std::vector<std::string>& unstated) {
  for (const std::string& name : unstated)
    ensure(!reading.overrides.contains(name), Fault::usage,
           "--override {0} leaves it unstated: give --override {0}=X, --{1}, or a column of a table.", name,
           option_of(name));
}

std::string option_of(std::string_view parameter) {
  std::string name(parameter);
  std::ranges::replace(name, '_', '-');
  return name;
}

StatedParameters stated_parameters(const core::Options& options) {
  StatedParameters stated;
  for (const core::CosmologyParameter& row : core::kCosmologyParameters) {
    const std::string option = option_of(row.name);
    if (options.given(option)) stated[std::string(row.name)] = {options.number(option), "--" + option};
  }
  return stated;
}

int read_grid(const core::Options& options) { return static_cast<int>(options.integer("grid", 1, 1 << 14)); }

void add_inputs(const core::Invocation& run, const std::vector<std::string>& files, const std::string& target,
                core::Request& request) {
  const std::vector<std::string> digests = sha256_of_files(run.comm, run.log, files);
  for (std::size_t i = 0; i < files.size(); ++i)
    request.inputs.push_back(
        {core::seen_from(target, files[i]).string(), "sha256:" + digests[i], digests[i]});
}

core::Needs needs_of(int grid, std::uint64_t memory) {
  return {.memory = core::resident_memory() + memory,
          .memory_cause = fmt::format("--grid {} needs", grid),
          .memory_remedy = "choose a coarser one",
          .disk_cause = "The counts to write"};
}

void refuse_same_content(const std::vector<core::InputRecord>& files, std::string_view remedy) {
  std::map<std::string, std::string> path_of;
  for (const core::InputRecord& file : files) {
    const auto [twin, fresh] = path_of.emplace(file.sha256, file.path);
    core::ensure(fresh, Fault::config, "{} and {}, as seen from --output, have the same content: {}.",
                 twin->second, file.path, remedy);
  }
}

void warn_of_assumptions(const core::Log& log, const std::vector<std::string>& assumed,
                         std::string_view lack) {
  if (assumed.empty()) return;
  const core::Cosmology defaults;
  std::vector<std::string> values;
  for (const std::string& name : assumed) {
    values.push_back(
        fmt::format("--{} {}", option_of(name), defaults.*core::find_cosmology_parameter(name)->member));
  }
  log.warn("{}; the counts will record {}.", lack, fmt::join(values, " "));
}

}  // namespace cosmo::histogram
