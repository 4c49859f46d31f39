#include "sim/gravity/gradient_descent.hpp"

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "sim/gravity/periodic_box.hpp"
#include "sim/linear/mode_table.hpp"

namespace cosmo::sim {

namespace {

struct Fit {
  double spacing, cell;  ///< [Mpc/h]
  int steps;
  GradientDescent descent;
};

constexpr std::array kFits = {
    Fit{2, 2, 10, {0.22, 2, 3}},
    Fit{2, 1, 10, {0.087, 3, 6}},
    Fit{2, 1, 12, {0.069, 3, 6}},
};

}  // namespace

GradientDescent find_descent(double spacing, double cell, int steps) {
  constexpr double kTolerance = 0.02;
  const auto near = [](double value, double fitted) { return std::abs(value / fitted - 1) < kTolerance; };
  std::vector<std::string> all;
  for (const Fit& fit : kFits) {
    if (near(spacing, fit.spacing) && near(cell, fit.cell) && steps == fit.steps) return fit.descent;
    all.push_back(fmt::format("{}, {} and {}", fit.spacing, fit.cell, fit.steps));
  }
  core::fail(
      core::Fault::config,
      "--gradient-descent fitted has no fit for particles {:.4g} Mpc/h apart, cells of {:.4g} Mpc/h and {} steps, only for "
      "{}: change --box, --mesh or --steps, or give ALPHA,KL,KS.",
      spacing, cell, steps, fmt::join(all, "; "));
}

void descend(ParticleSet& particles, ForceMesh& forces, const GradientDescent& descent) {
  const auto along_g = static_cast<float>(-descent.alpha);
  const Wrap wrap(forces.grid().box_size);
  float* x = particles.x().data();
  std::atomic<bool> stray = false;
  const ModeTable band(forces.mesh(), [&](double k) {
    return std::exp(-std::pow(descent.long_wave / k, 2) - std::pow(k / descent.short_wave, 4));
  });
  forces.solve(particles, &band);
  forces.gather_again(particles, [=, &stray](const Group& i, const Vectors& position, const Vectors& g) {
    store3(x, i, wrap(position + along_g * g, stray));
  });
  settle(particles, stray, forces.communicator(), forces.grid());
}

}  // namespace cosmo::sim
