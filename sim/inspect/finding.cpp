#include "sim/inspect/finding.hpp"

#include <fmt/ranges.h>

namespace cosmo::sim {

Finding finding_of(const std::string& kind, const core::OutputHeader& header, int cells_per_side,
                   fourier::MassAssignment assignment) {
  Finding finding{{cells_per_side, header.box_size}, header.particles, assignment, {}, {}};
  finding.summary = {{"kind", kind},
                     {"particles", header.particles},
                     {"box_mpc_h", header.box_size},
                     {"cells_per_side", cells_per_side},
                     {"redshift", header.redshift},
                     {"seed", header.universe.seed},
                     {"code_version", header.code_version}};
  finding.text =
      fmt::format("box          {} Mpc/h\nredshift     {}\nseed         {}\nwritten by   version {}\n",
                  header.box_size, header.redshift, header.universe.seed, header.code_version);
  if (!header.line_of_sight.empty()) {
    finding.summary[core::kLineOfSightKey] = header.line_of_sight;
    finding.text += fmt::format("space        {}\n", core::describe_space(header.line_of_sight));
  }
  std::vector<std::string> parameters;
  for (const core::CosmologyParameter& row : core::kCosmologyParameters) {
    finding.summary["parameters"][std::string(row.name)] = header.universe.cosmology.*row.member;
    parameters.push_back(fmt::format("{} {}", row.name, header.universe.cosmology.*row.member));
  }
  finding.text += fmt::format("parameters   {}\n", fmt::join(parameters, ", "));
  return finding;
}

void add_checks(Finding& finding, std::vector<std::string> checks, bool recorded) {
  if (recorded) checks.emplace_back("bytes as the manifest's sha256");
  finding.summary["checks"] = checks;
  finding.text += fmt::format("checked      {}\n", fmt::join(checks, ", "));
}

}  // namespace cosmo::sim
