#include "sim/plan/outputs.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace cosmo::sim {

using core::ensure, core::Fault;

namespace {

/// The output redshifts in ascending order.
std::vector<double> read_redshifts(const core::Options& options) {
  std::vector<double> redshifts = options.numbers("redshifts");
  std::ranges::sort(redshifts);
  for (double& redshift : redshifts) redshift += 0.0;  // -0 is 0
  return redshifts;
}

}  // namespace

void Outputs::declare(core::Options& options) {
  options.begin_group(core::kEveryDay);
  options.add("redshifts Z,...", "0", "output redshifts, separated by commas, up to --z-initial");
  options.begin_group("Outputs");
  options.add("redshift-space AXIS", std::nullopt,
              "x, y or z: outputs as an observer far along that axis sees them, moved by their velocities "
              "[none: real space]",
              {"x", "y", "z"});
}

Outputs Outputs::read(const core::Options& options) {
  Outputs outputs;
  outputs.redshifts = read_redshifts(options);
  if (options.given("redshift-space")) outputs.line_of_sight = options.choice("redshift-space");
  return outputs;
}

void Outputs::check(double z_initial) const {
  ensure(!redshifts.empty(), Fault::config, "--redshifts is empty: name one or more, such as 0.");
  for (const double redshift : redshifts) {
    ensure(redshift >= 0 && redshift <= z_initial, Fault::config,
           "--redshifts has {}: choose values from 0 to --z-initial, {}.", redshift, z_initial);
    ensure(std::ranges::count(redshifts, redshift) == 1, Fault::config,
           "--redshifts has {} twice: name it once.", redshift);
  }
}

void Outputs::identify(core::Json& config) const {
  config["redshifts"] = redshifts;
  // Requests without them have the ids of earlier versions.
  if (!line_of_sight.empty()) config[core::kLineOfSightKey] = line_of_sight;
}

void Outputs::state(core::Facts& facts) const {
  if (!redshifts.empty()) facts.insert_or_assign("redshift", core::Fact(redshifts.front(), redshifts.back()));
  core::set_line_of_sight(facts, line_of_sight);
}

std::string Outputs::describe() const { return fmt::format("at z = {}", fmt::join(redshifts, ", ")); }

}  // namespace cosmo::sim
