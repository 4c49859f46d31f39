// Outputs in redshift space: what moves, and how much power that adds.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <vector>

#include "sim/linear/background.hpp"
#include "sim/simulation.hpp"

using namespace cosmo;

namespace {

/// Sum of P times the number of modes for k < `most` [h/Mpc], at each redshift.
std::map<double, double> large_scale_power(const core::Communicator& comm,
                                           const sim::SimulationConfig& config,
                                           const core::Universe& universe, double most) {
  std::map<double, double> sums;
  sim::simulate(
      comm, config, universe, {.output = [&](const sim::Output& output) {
        for (std::size_t bin = 0; bin < output.power.k.size() && output.power.k[bin] < most; ++bin) {
          sums[output.redshift] += output.power.power[bin] * static_cast<double>(output.power.modes[bin]);
        }
      }});
  return sums;
}

}  // namespace

TEST_CASE("in redshift space, positions along the line of sight alone are moved, by v/(aH)") {
  const auto comm = core::Communicator::world();
  sim::SimulationConfig config;
  config.box.side = core::Length(40);
  config.box.particles_per_side = 16;
  config.gravity.mesh_per_side = 24;
  config.contents.momenta = config.contents.ids = true;
  config.outputs.redshifts = {0, 1.5};
  // Position and momentum of each particle at each redshift; other ranks' are 0.
  const auto particles = [&] {
    std::map<double, std::vector<float>> found;
    sim::simulate(comm, config, {}, {.output = [&](const sim::Output& output) {
                    std::vector<float>& at = found[output.redshift];
                    at.resize(6 * 16 * 16 * 16);
                    for (std::size_t i = 0; i < output.particles.size(); ++i) {
                      const std::size_t id = comm.size() > 1 ? output.particles.ids()[i] : i;
                      for (std::size_t c = 0; c < 3; ++c) {
                        at[6 * id + c] = output.particles.x()[3 * i + c];
                        at[6 * id + 3 + c] = output.particles.p()[3 * i + c];
                      }
                    }
                    comm.sum(std::span<float>(at));
                  }});
    return found;
  };
  auto real = particles();
  const sim::Background background{core::Cosmology{}};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    config.outputs.line_of_sight = static_cast<char>('x' + axis);
    auto seen = particles();
    for (const double z : config.outputs.redshifts) {
      const double a = 1 / (1 + z), aH = 100 * a * background.E(a);  // [km/s/(Mpc/h)]
      double worst = 0, largest = 0;
      std::int64_t others = 0;
      for (std::size_t i = 0; i < real[z].size(); ++i) {
        const std::size_t c = i % 6;
        if (c != axis) {
          others += seen[z][i] != real[z][i];
          continue;
        }
        const double velocity = 100 * static_cast<double>(real[z][i + 3]) / a;  // [km/s]
        const double error = static_cast<double>(seen[z][i] - real[z][i]) - velocity / aH;
        worst = std::max(worst, std::abs(error - 40 * std::round(error / 40)));
        largest = std::max(largest, std::abs(velocity / aH));
        others += !(seen[z][i] >= 0 && seen[z][i] < 40);
      }
      INFO("axis " << axis << ", z = " << z << ": moved by up to " << largest << ", error " << worst
                   << " Mpc/h");
      CHECK(largest > 1);
      CHECK(worst < 2e-5);
      CHECK(others == 0);
    }
  }
}

TEST_CASE("on large scales redshift space has Kaiser's power") {
  const auto comm = core::Communicator::world();
  sim::SimulationConfig config;
  config.box.side = core::Length(1024);
  config.box.particles_per_side = config.gravity.mesh_per_side = 64;
  config.gravity.force_kernel = "deconvolved";
  config.start.amplitude = sim::Amplitude::fixed;
  const core::Universe universe{.seed = 3};
  config.contents.momenta = config.contents.power_spectrum = true;
  config.outputs.redshifts = {0, 1, 3};
  const auto real = large_scale_power(comm, config, universe, 0.05);
  std::map<double, double> seen;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    config.outputs.line_of_sight = static_cast<char>('x' + axis);
    for (const auto& [z, power] : large_scale_power(comm, config, universe, 0.05)) seen[z] += power / 3;
  }
  const sim::Background background{core::Cosmology{}};
  for (const double z : config.outputs.redshifts) {
    const double a = 1 / (1 + z), f = a * background.T_D1(a) / background.Q(a) / background.D1(a);
    const double kaiser = 1 + 2 * f / 3 + f * f / 5, ratio = seen[z] / real.at(z);
    INFO("z = " << z << ", beta = " << f << ": P_s/P = " << ratio << ", Kaiser " << kaiser
                << ", ratio of these " << ratio / kaiser);
    CHECK(std::abs(ratio / kaiser - 1) < (z == 0 ? 0.02 : 0.01));
  }
}
