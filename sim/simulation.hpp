#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/fourier/power_spectrum.hpp"
#include "core/grid.hpp"
#include "core/parallel/communicator.hpp"
#include "core/universe/cosmology.hpp"
#include "sim/linear/gaussian_field.hpp"
#include "sim/linear/linear_power.hpp"
#include "sim/linear/spectrum_table.hpp"
#include "sim/nbody/particle_set.hpp"
#include "sim/nbody/schedule.hpp"

namespace cosmo::sim {

/// Raised whenever the same configuration has another outcome, so that no suite mixes them.
inline constexpr int kMethod = 3;

/// Particles a side of a cell, on the mean, that meshes and count grids must have room for.
inline constexpr int kMostPerCell = 32;

/// Everything that decides the outcome of one simulation; together with the program, bit by bit.
struct SimulationConfig {
  core::Cosmology cosmology;
  double box_size = 512;         ///< --box [Mpc/h]
  int particles_per_side = 256;  ///< --particles
  int mesh_per_side = 256;       ///< --mesh: cells of the force mesh; 2 to 3 times the particles resolve best
  int steps = 10;                ///< --steps, equal in a
  double z_initial = 9;          ///< --z-initial
  std::string transfer = "eisenstein-hu";   ///< --transfer
  std::optional<SpectrumTable> table = {};  ///< --transfer FILE: instead of `transfer`
  std::string force_kernel = "four-point";  ///< --force-kernel
  Amplitude amplitude = Amplitude::random;  ///< --fixed-amplitude
  Partner partner = Partner::none;          ///< --paired
  std::uint64_t seed = 0;
  std::vector<double> redshifts = {0};  ///< --redshifts of the outputs, none before z_initial
  bool momenta = false;                 ///< outputs have momenta too, for one more force each
  bool ids = false;                     ///< particles that travel between ranks know their names
  bool power_spectra = false;           ///< measure the initial field's and every output's

  core::GridSpec particle_grid() const { return {particles_per_side, box_size}; }
  core::GridSpec force_grid() const { return {mesh_per_side, box_size}; }
  double a_start() const { return 1 / (1 + z_initial); }
};

/// The power that its initial field is drawn from, grown linearly to today.
LinearPower linear_power(const SimulationConfig& config);

/// Throws Error{config} that names the option and the remedy if `ranks` processes cannot run the simulation.
void validate(const SimulationConfig& config, int ranks);

/// The particles at one of the redshifts asked for.
struct Output {
  double redshift;
  /// x in [0, L), q = (i + 1/2) L/N; p = a² dx/dt / H0 [Mpc/h] if config.momenta. On any rank, in any order;
  /// with more than one rank and config.ids, ids() are (qx N + qy) N + qz, else one rank has them in that
  /// order.
  const ParticleSet& particles;
  /// Of the matter, up to the particles' Nyquist wavenumber, if config.power_spectra. Cloud in cell on the
  /// force mesh, corrected for its window but not for the particles' discreteness.
  fourier::PowerSpectrum power;
};

/// Who is told what during a simulation; any may be empty.
struct Observers {
  /// Of the initial field at D1 = 1, if config.power_spectra, and what it was drawn from.
  std::function<void(const fourier::PowerSpectrum&, const LinearPower&)> initial = {};
  std::function<void(const Step&)> step = {};      ///< after each step
  std::function<void(const Output&)> output = {};  ///< the earliest first
};

/// One universe from its initial field to the last output. The same bits for any number of ranks and threads,
/// up to the order of particles, and at each redshift whatever the other redshifts. Collective.
/// Throws, on every rank, Error{config} as validate(), Error{numeric} as ColaStepper::advance().
void simulate(const core::Communicator& comm, const SimulationConfig& config, const Observers& observers);

/// Memory that each of `ranks` processes needs [bytes], if particles stay evenly spread; to be told before a
/// run.
std::size_t predicted_memory_bytes(const SimulationConfig& config, int ranks);

}  // namespace cosmo::sim
