// Prints one line that names every bit of a simulation's outcome, whatever the layout: fingerprints of the
// modes of a mesh, of what is measured of it, of the particles' positions and momenta, and of their counts.
// tests/mpi/same_everywhere.sh compares layouts.
#include <cstdio>

#include "core/fourier/bispectrum.hpp"
#include "core/fourier/correlation_function.hpp"
#include "core/fourier/power_spectrum.hpp"
#include "histogram/count_grid.hpp"
#include "sim/gravity/force_kernel.hpp"
#include "sim/simulation.hpp"
#include "tests/mpi/fingerprint.hpp"

using namespace cosmo;

namespace {

std::uint64_t modes_of(const core::Communicator& comm, int side) {
  fourier::FourierMesh mesh(comm, {side, 100.0});
  fill_rough(mesh);
  mesh.forward();
  mesh.backward();
  mesh.forward();
  return fingerprint(mesh);
}

/// What is measured of a rough field, whose sums run over all ranks and threads.
std::uint64_t measures_of(const core::Communicator& comm) {
  fourier::FourierMesh mesh(comm, {45, 100.0});
  fill_rough(mesh);
  mesh.forward();
  const fourier::PowerSpectrum spectrum = fourier::power_spectrum(mesh);
  const fourier::Bispectrum shells = fourier::bispectrum(mesh, 11, fourier::MassAssignment::cloud_in_cell);
  const auto separations = fourier::correlation_function(mesh, fourier::MassAssignment::cloud_in_cell);
  std::uint64_t word = 0;
  for (const std::vector<double>* column :
       {&spectrum.k, &spectrum.power, &shells.k, &shells.power, &shells.equilateral.triangles,
        &shells.equilateral.b, &shells.squeezed.triangles, &shells.squeezed.b, &separations.r,
        &separations.xi}) {
    for (const double value : *column) word = scrambled(word + std::bit_cast<std::uint64_t>(value));
  }
  return word;
}

std::uint64_t particles_of(const core::Communicator& comm, const sim::ParticleSet& particles) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < particles.size(); ++i) {
    std::uint64_t word = 0;
    for (const auto& column : {particles.x(), particles.p()}) {
      for (std::size_t c = 0; c < 3; ++c)
        word = scrambled(word + std::bit_cast<std::uint32_t>(column[3 * i + c]));
    }
    sum += word;
  }
  return comm.sum(sum);
}

/// Counts on `bins` per side as cosmo-sim writes them.
std::uint64_t counts_of(const core::Communicator& comm, const sim::ParticleSet& particles, double box,
                        int bins) {
  const histogram::CountGrid grid = histogram::count_particles(comm, {bins, box}, particles.x());
  const std::size_t plane = static_cast<std::size_t>(bins) * static_cast<std::size_t>(bins);
  std::uint64_t cell = static_cast<std::uint64_t>(grid.slab().first) * plane;
  std::uint64_t sum = 0;
  for (const std::uint16_t count : grid.counts()) sum += scrambled(scrambled(cell++) + count);
  return comm.sum(sum);
}

/// Counts, and with `config` positions, momenta and spectra, of every output.
std::uint64_t universe_of(const core::Communicator& comm, const sim::SimulationConfig& config) {
  std::uint64_t word = 0;
  sim::simulate(comm, config, {.seed = 42}, {.output = [&](const sim::Output& output) {
                  word = scrambled(word + particles_of(comm, output.particles));
                  word = scrambled(word + counts_of(comm, output.particles, config.box.side.value,
                                                    config.box.particles_per_side / 2));
                  for (const double power : output.power.power) {
                    word = scrambled(word + std::bit_cast<std::uint64_t>(power));
                  }
                }});
  return word;
}

}  // namespace

int main(int argc, char** argv) {
  const core::MpiSession session(argc, argv);
  const auto comm = core::Communicator::world();
  const auto print = [&](std::uint64_t word) {
    if (comm.is_root()) std::printf("%016lx ", word);
  };
  print(modes_of(comm, 32));
  print(modes_of(comm, 45));
  print(measures_of(comm));

  sim::SimulationConfig config;
  config.box.side = core::Length(200);
  const auto print_universe = [&](int particles, int mesh, std::string_view kernel = {}) {
    config.box.particles_per_side = particles;
    config.gravity.mesh_per_side = mesh;
    config.gravity.force_kernel = kernel.empty() ? sim::best_force_kernel(mesh, particles) : kernel;
    print(universe_of(comm, config));
  };
  print_universe(64, 64);
  print_universe(96, 96);
  config.start.partner = sim::Partner::flipped;
  config.start.amplitude = sim::Amplitude::fixed;
  print_universe(30, 50);
  // Slabs of 2.5 Mpc/h on four ranks: particles travel across several.
  config.box.side = core::Length(10);
  print_universe(12, 12);
  config.box.side = core::Length(200);
  config.outputs.redshifts = {0, 1, 0.3};
  config.contents.momenta = config.contents.power_spectrum = true;
  print_universe(64, 128);
  config.outputs.line_of_sight = "x";
  config.start.f_nl = 100;
  config.gravity.radiation = true;
  print_universe(32, 48);
  config.gravity.integrator = "bullfrog";
  print_universe(64, 128);
  print_universe(64, 64);
  config.box.side = core::Length(10);
  print_universe(12, 12);
  print_universe(12, 12, "alternating");
  print_universe(4, 4, "alternating");  // slabs of one plane on four ranks
  config.start.lpt_order = 3;
  config.gravity.descent = {0.2, 1, 2};
  print_universe(32, 48);
  config.box.side = core::Length(200);
  print_universe(64, 64, "alternating");
}
