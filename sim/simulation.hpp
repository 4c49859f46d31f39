#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/fourier/bispectrum.hpp"
#include "core/fourier/correlation_function.hpp"
#include "core/fourier/power_spectrum.hpp"
#include "core/grid.hpp"
#include "core/parallel/communicator.hpp"
#include "core/universe/universe.hpp"
#include "sim/gravity/gradient_descent.hpp"
#include "sim/gravity/particle_set.hpp"
#include "sim/linear/background.hpp"
#include "sim/linear/gaussian_field.hpp"
#include "sim/linear/linear_power.hpp"
#include "sim/linear/spectrum_table.hpp"
#include "sim/nbody/stepper.hpp"

namespace cosmo::sim {

/// Version of the method, raised whenever the same configuration gives a different result.
inline constexpr int kMethod = 3;

/// Limit on the mean number of particles per side of a cell, for force meshes and count grids.
inline constexpr int kMostPerCell = 32;

/// Everything that determines the result of one simulation; with the same program, bit for bit.
struct SimulationConfig {
  core::Universe universe;
  double box_size = 512;         ///< --box [Mpc/h]
  int particles_per_side = 256;  ///< --particles
  int mesh_per_side = 256;       ///< --mesh: cells of the force mesh; 2 to 3 times the particles resolve best
  std::string integrator = "cola";          ///< --integrator
  int steps = 10;                           ///< --steps
  double z_initial = 9;                     ///< --z-initial
  int lpt_order = 2;                        ///< --lpt-order of the start, 2 or 3
  std::string transfer = "eisenstein-hu";   ///< --transfer
  std::optional<SpectrumTable> table = {};  ///< --transfer FILE: instead of `transfer`
  std::string force_kernel = "four-point";  ///< --force-kernel
  Amplitude amplitude = Amplitude::random;  ///< --fixed-amplitude
  Partner partner = Partner::none;          ///< --paired
  std::optional<NoiseFile> noise = {};      ///< --white-noise FILE: instead of the universe's seed
  bool radiation = false;                   ///< --radiation: in the expansion and the growth
  double f_nl = 0;                          ///< --f-nl: local non-Gaussianity
  GradientDescent descent = {};             ///< --gradient-descent of the particles of outputs
  std::vector<double> redshifts = {0};      ///< --redshifts of the outputs, none before z_initial
  bool momenta = false;                     ///< outputs have momenta too, most of them at one more force
  bool ids = false;                         ///< particles that move between ranks keep IDs
  bool power_spectra = false;               ///< measure those of the initial field and every output
  bool correlation_functions = false;       ///< --correlation-function: measure that of every output
  bool bispectra = false;                   ///< --bispectrum: measure that of every output
  core::LineOfSight line_of_sight = {};     ///< --redshift-space of outputs, which needs momenta

  core::GridSpec particle_grid() const { return {particles_per_side, box_size}; }
  core::GridSpec force_grid() const { return {mesh_per_side, box_size}; }
  double a_start() const { return 1 / (1 + z_initial); }
  /// Limit of bispectra, in fundamental wavenumbers: the particles' Nyquist wavenumber, or half the force
  /// mesh's, beyond which undoing its window would amplify aliases.
  int bispectrum_limit() const { return std::min(mesh_per_side / 4, particles_per_side / 2); }
};

/// Expansion and growth.
Background background_of(const SimulationConfig& config);

/// The power spectrum from which the initial field is drawn, grown linearly to today.
LinearPower linear_power(const SimulationConfig& config);

/// Throws Error{config} naming the option and the remedy if `ranks` processes cannot run the simulation.
void validate(const SimulationConfig& config, int ranks);

/// The particles at one of the requested redshifts.
struct Output {
  double redshift;
  /// x in [0, L), q = (i + 1/2) L/N; p = a² dx/dt / H0 [Mpc/h] if config.momenta. On several ranks particles
  /// are on any rank in any order, with ids() (qx N + qy) N + qz if config.ids; a single rank has them in
  /// that order. With config.line_of_sight x are positions in redshift space.
  const ParticleSet& particles;
  /// What config asks to measure. Cloud in cell on the force mesh, corrected for its window but not for the
  /// particles' discreteness.
  fourier::PowerSpectrum power = {};  ///< up to the particles' Nyquist wavenumber
  fourier::CorrelationFunction correlation = {};
  fourier::Bispectrum bispectrum = {};  ///< up to config.bispectrum_limit()
};

/// Functions called during a simulation; any may be empty.
struct Observers {
  /// Receives the initial field's spectrum at D1 = 1 and the one it was drawn from, if config.power_spectra.
  std::function<void(const fourier::PowerSpectrum&, const LinearPower&)> initial = {};
  std::function<void(const Step&)> step = {};      ///< called after each step
  std::function<void(const Output&)> output = {};  ///< called for each output, the earliest first
};

/// Simulates one universe from its initial field to the last output. Gives the same bits for any number of
/// ranks and threads, up to the order of particles, and at each redshift whatever the other redshifts are.
/// Collective. Throws, on every rank, Error{config} as validate(), Error{numeric} as a Stepper.
void simulate(const core::Communicator& comm, const SimulationConfig& config, const Observers& observers);

/// Predicted memory that the largest of `ranks` processes needs if Observers::output takes `of_observer` [bytes]. With several
/// ranks particles gather in some slabs: two standard deviations of the linear density in a slab today are allowed for.
std::size_t predicted_memory_bytes(const SimulationConfig& config, int ranks, std::size_t of_observer = 0);

}  // namespace cosmo::sim
