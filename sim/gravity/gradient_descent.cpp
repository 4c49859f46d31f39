#include "sim/gravity/gradient_descent.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "sim/gravity/periodic_box.hpp"
#include "sim/linear/mode_table.hpp"

namespace cosmo::sim {

namespace {

struct Fit {
  std::string_view force_kernel;
  int lpt_order;
  double spacing, cell;  ///< [Mpc/h]
  int steps;
  GradientDescent descent;
};

constexpr std::array kFits = {
    Fit{"deconvolved", 3, 2, 2, 10, {0.23, 2, 3, 0.5}}, Fit{"alternating", 2, 2, 2, 10, {0.088, 2, 3, 0.8}},
    Fit{"four-point", 3, 2, 1, 10, {0.093, 3, 6, 2.8}}, Fit{"four-point", 3, 2, 1, 12, {0.076, 3, 6, 1.8}},
    Fit{"four-point", 2, 2, 1, 12, {0.11, 3, 6, 3}},
};

/// The fit, or nullptr.
const Fit* fit_of(std::string_view force_kernel, int lpt_order, double spacing, double cell, int steps) {
  constexpr double kTolerance = 0.02;
  const auto near = [](double value, double fitted) { return std::abs(value / fitted - 1) < kTolerance; };
  const auto found = std::ranges::find_if(kFits, [&](const Fit& fit) {
    return force_kernel == fit.force_kernel && lpt_order == fit.lpt_order && steps == fit.steps &&
           near(spacing, fit.spacing) && near(cell, fit.cell);
  });
  return found == kFits.end() ? nullptr : &*found;
}

}  // namespace

std::string text_of(const GradientDescent& descent) {
  const auto& [alpha, long_wave, short_wave, growth] = descent;
  if (alpha == 0) return "none";
  return growth == 0 ? fmt::format("{},{},{}", alpha, long_wave, short_wave)
                     : fmt::format("{},{},{},{}", alpha, long_wave, short_wave, growth);
}

bool has_fit(std::string_view force_kernel, int lpt_order, double spacing, double cell, int steps) {
  return fit_of(force_kernel, lpt_order, spacing, cell, steps) != nullptr;
}

GradientDescent find_descent(std::string_view force_kernel, int lpt_order, double spacing, double cell,
                             int steps) {
  if (const Fit* fit = fit_of(force_kernel, lpt_order, spacing, cell, steps)) return fit->descent;
  std::vector<std::string> all;
  for (const Fit& fit : kFits)
    all.push_back(fmt::format("{}, {}, {}, {} and {}", fit.force_kernel, fit.lpt_order, fit.spacing, fit.cell,
                              fit.steps));
  core::fail(
      core::Fault::config,
      "--gradient-descent fitted has no fit for --force-kernel {}, --lpt-order {}, particles {:.4g} Mpc/h apart, cells of {:.4g} Mpc/h and {} "
      "steps, only for {}: change --force-kernel, --lpt-order, --box, --mesh or --steps, or give ALPHA,KL,KS.",
      force_kernel, lpt_order, spacing, cell, steps, fmt::join(all, "; "));
}

void descend(ParticleSet& particles, ForceMesh& forces, const GradientDescent& descent, double sigma_8) {
  const auto along_g = static_cast<float>(-descent.alpha_of(sigma_8));
  const Wrap wrap(forces.grid().box_size);
  float* x = particles.x().data();
  std::atomic<bool> stray = false;
  const ModeTable band(forces.mesh(), [&](double k) {
    return std::exp(-std::pow(descent.long_wave / k, 2) - std::pow(k / descent.short_wave, 4));
  });
  const auto move = [=, &stray](const Group& i, const Vectors& position, const Vectors& g) {
    store3(x, i, wrap(position + along_g * g, stray));
  };
  forces.accelerate(particles, move, &band);
  settle(particles, stray, forces.communicator(), forces.grid());
}

}  // namespace cosmo::sim
