#include "sim/plan/outputs.hpp"

#include <algorithm>
#include <cmath>

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

/// --tracers
double read_tracers(const std::string& text) {
  const std::size_t slash = text.find('/');
  double share = core::parse_number(text.substr(0, slash), "--tracers", text);
  if (slash != std::string::npos) share /= core::parse_number(text.substr(slash + 1), "--tracers", text);
  ensure(share > 0 && share <= 1, Fault::config,
         "--tracers is {}: choose a share of the particles above 0, up to 1, such as 1/64.", text);
  return share;
}

/// --web
core::WebDefinition read_web(const std::string& text) {
  const std::size_t colon = text.find(':');
  ensure(colon != std::string::npos, Fault::usage, "Option --web is '{}': give R:LAMBDA, such as 4:0.2.",
         text);
  const core::WebDefinition web{core::parse_number(text.substr(0, colon), "--web", text),
                                core::parse_number(text.substr(colon + 1), "--web", text)};
  ensure(web.radius > 0, Fault::config, "--web is {}: choose a radius R above 0 Mpc/h, such as 4.", text);
  return web;
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
  options.add(
      "tracers SHARE", "1",
      "share of the particles that are counted, such as 1/64 or 0.02, chosen at random by the universe's "
      "seed; other outputs are of all");
  options.add(
      "web R:LAMBDA", "4:0.2",
      "of --save web: R smooths the density of all particles [Mpc/h], and a class is the number of eigenvalues of its tidal "
      "tensor above LAMBDA");
}

Outputs Outputs::read(const core::Options& options) {
  Outputs outputs;
  outputs.redshifts = read_redshifts(options);
  outputs.tracers = read_tracers(options.text("tracers"));
  outputs.web = read_web(options.text("web"));
  if (options.given("redshift-space")) outputs.line_of_sight = options.choice("redshift-space");
  return outputs;
}

void Outputs::check(double z_initial, const Box& box) const {
  const auto particles = static_cast<double>(box.lattice(1).cells());
  ensure(tracers * particles >= 1, Fault::config,
         "--tracers {} is less than one of {} particles: choose a larger share.", tracers, particles);
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
  if (tracers < 1) config["tracers"] = tracers;
  core::write_web(config, web);
}

void Outputs::state(core::Facts& facts, const Box& box) const {
  if (!redshifts.empty()) facts.insert_or_assign("redshift", core::Fact(redshifts.front(), redshifts.back()));
  core::set_line_of_sight(facts, line_of_sight);
  if (tracers == 1) return;
  facts.insert_or_assign("tracers", core::Fact(tracers));
  const auto counted_here = static_cast<double>(counted(box.lattice(1).cells()));
  core::set_length(facts, "particle_spacing", box.side / std::cbrt(counted_here));
}

std::uint64_t Outputs::counted(std::uint64_t particles) const {
  return static_cast<std::uint64_t>(std::llround(tracers * static_cast<double>(particles)));
}

std::string Outputs::describe() const { return fmt::format("at z = {}", fmt::join(redshifts, ", ")); }

}  // namespace cosmo::sim
