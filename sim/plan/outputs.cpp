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

/// The fit for the settings and boxes of all universes. Throws Error{config} naming what the fit is not for.
GradientDescent fitted_descent(const std::vector<double>& redshifts, const Universes& universes,
                               const Box& box, const Gravity& gravity, const Start& start) {
  ensure(gravity.integrator == "cola" && gravity.z_initial == 9 && redshifts == std::vector{0.0},
         Fault::config,
         "--gradient-descent fitted is for --integrator cola, --z-initial 9 and --redshifts 0: "
         "give these, or ALPHA,KL,KS.");
  GradientDescent descent;
  for (const core::Universe& universe : universes.list) {
    const double size = box.side.mpc_h(universe.cosmology.h);
    descent = find_descent(gravity.force_kernel, start.lpt_order, size / box.particles_per_side,
                           size / gravity.mesh_per_side, gravity.steps);
  }
  return descent;
}

/// The ALPHA,KL,KS of --gradient-descent. Throws Error{usage} unless these are three numbers, Error{config} if they are
/// impossible.
GradientDescent given_descent(const core::Options& options) {
  const std::string& text = options.text("gradient-descent");
  ensure(std::ranges::count(text, ',') == 2, Fault::usage,
         "--gradient-descent is '{}': give fitted, or three numbers ALPHA,KL,KS.", text);
  const std::vector<double> numbers = options.numbers("gradient-descent");
  const auto possible = [](double k) { return k >= 1e-3 && k <= 1e3; };
  constexpr double kMostDescent = 10;  // particles then go ten times as far as their displacement
  ensure(
      numbers[0] != 0 && std::abs(numbers[0]) <= kMostDescent && possible(numbers[1]) && possible(numbers[2]),
      Fault::config,
      "--gradient-descent is '{}': choose ALPHA between -{} and {} but not 0, KL and KS between 0.001 and "
      "1000 h/Mpc.",
      text, kMostDescent, kMostDescent);
  return {numbers[0], numbers[1], numbers[2]};
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
  options.begin_group(core::kForExperts);
  options.add(
      "gradient-descent ALPHA,KL,KS", std::nullopt,
      "sharpens the haloes of outputs as a finer mesh would: fitted, for the settings of docs/cola.md and by sigma8, or "
      "ALPHA,KL,KS with KL and KS in h/Mpc [none]");
}

Outputs Outputs::read(const core::Options& options, const Universes& universes, const Box& box,
                      const Gravity& gravity, const Start& start) {
  Outputs outputs;
  outputs.redshifts = read_redshifts(options);
  if (options.given("redshift-space")) outputs.line_of_sight = options.choice("redshift-space");
  if (options.given("gradient-descent")) {
    outputs.descent = options.text("gradient-descent") == "fitted"
                          ? fitted_descent(outputs.redshifts, universes, box, gravity, start)
                          : given_descent(options);
  }
  return outputs;
}

void Outputs::check(const Gravity& gravity) const {
  ensure(!redshifts.empty(), Fault::config, "--redshifts is empty: name one or more, such as 0.");
  for (const double redshift : redshifts) {
    ensure(redshift >= 0 && redshift <= gravity.z_initial, Fault::config,
           "--redshifts has {}: choose values from 0 to --z-initial, {}.", redshift, gravity.z_initial);
    ensure(std::ranges::count(redshifts, redshift) == 1, Fault::config,
           "--redshifts has {} twice: name it once.", redshift);
  }
}

void Outputs::warn(const core::Log& log, const Universes& universes, const Gravity& gravity,
                   const Start& start) const {
  if (descent.growth == 0) return;
  const bool beyond = start.f_nl != 0 || gravity.radiation ||
                      std::ranges::any_of(universes.list, [](const core::Universe& universe) {
                        const core::Cosmology& at = universe.cosmology;
                        return at.omega_m < 0.25 || at.omega_m > 0.35 || at.sigma8 < 0.78 ||
                               at.sigma8 > 0.95 || at.w0 != -1 || at.wa != 0;
                      });
  if (beyond)
    log.warn(
        "--gradient-descent fitted has been tested for omega_m of 0.25 to 0.35, sigma8 of 0.78 to 0.95, w0 = -1, wa = 0, "
        "without --f-nl and --radiation: compare with a mesh of three times the --particles before relying on it here.");
}

void Outputs::identify(core::Json& config) const {
  config["redshifts"] = redshifts;
  // Requests without them have the ids of earlier versions.
  if (!line_of_sight.empty()) config[core::kLineOfSightKey] = line_of_sight;
  if (descent.alpha != 0) {
    const auto& [alpha, long_wave, short_wave, growth] = descent;
    config["gradient_descent"] = {alpha, long_wave, short_wave};
    if (growth != 0) config["gradient_descent"].push_back(growth);
  }
}

void Outputs::state(core::Facts& facts) const {
  if (!redshifts.empty()) facts.insert_or_assign("redshift", core::Fact(redshifts.front(), redshifts.back()));
  core::set_line_of_sight(facts, line_of_sight);
  const auto& [alpha, long_wave, short_wave, growth] = descent;
  facts.insert_or_assign("gradient_descent",
                         alpha == 0    ? "none"
                         : growth == 0 ? fmt::format("{},{},{}", alpha, long_wave, short_wave)
                                       : fmt::format("{},{},{},{}", alpha, long_wave, short_wave, growth));
}

std::string Outputs::describe() const { return fmt::format("at z = {}", fmt::join(redshifts, ", ")); }

}  // namespace cosmo::sim
