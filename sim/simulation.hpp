#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>

#include "core/fourier/bispectrum.hpp"
#include "core/fourier/correlation_function.hpp"
#include "core/fourier/fourier_mesh.hpp"
#include "core/fourier/power_spectrum.hpp"
#include "core/grid.hpp"
#include "core/parallel/communicator.hpp"
#include "core/universe/universe.hpp"
#include "sim/gravity/particle_set.hpp"
#include "sim/linear/linear_power.hpp"
#include "sim/nbody/stepper.hpp"
#include "sim/plan/box.hpp"
#include "sim/plan/gravity.hpp"
#include "sim/plan/outputs.hpp"
#include "sim/plan/start.hpp"

namespace cosmo::sim {

/// Version of the method, raised whenever the same configuration gives a different result.
inline constexpr int kMethod = 3;

/// What outputs have besides positions.
struct Contents {
  bool momenta = false;         ///< most of them at one more force
  bool ids = false;             ///< names of particles that move between ranks
  bool initial_field = false;   ///< the field before the first of them
  bool real_space = false;      ///< the particles before they are moved to redshift space
  bool power_spectrum = false;  ///< also of the initial field
  bool correlation_function = false;
  bool bispectrum = false;

  /// What either has.
  Contents operator+(const Contents& other) const {
    return {momenta || other.momenta,
            ids || other.ids,
            initial_field || other.initial_field,
            real_space || other.real_space,
            power_spectrum || other.power_spectrum,
            correlation_function || other.correlation_function,
            bispectrum || other.bispectrum};
  }
  bool measures() const { return power_spectrum || correlation_function || bispectrum; }
};

/// Everything but the universe that determines the result of one simulation; with the same program, bit for bit.
struct SimulationConfig {
  Box box = {};
  Gravity gravity = {};
  Start start = {};
  Outputs outputs = {};
  Contents contents = {};

  core::GridSpec particle_grid(const core::Cosmology& cosmology) const { return box.lattice(cosmology.h); }
  core::GridSpec force_grid(const core::Cosmology& cosmology) const {
    return {gravity.mesh_per_side, box.side.mpc_h(cosmology.h)};
  }
  /// Whether outputs have momenta: redshift space needs them, too.
  bool keeps_momenta() const { return contents.momenta || !outputs.line_of_sight.empty(); }
  /// Limit of bispectra, in fundamental wavenumbers: the particles' Nyquist wavenumber, or half the force
  /// mesh's, beyond which undoing its window would amplify aliases.
  int bispectrum_limit() const { return std::min(gravity.mesh_per_side / 4, box.particles_per_side / 2); }
};

/// Throws Error{config} naming the option and the remedy if `ranks` processes cannot run the simulation.
void validate(const SimulationConfig& config, const core::Cosmology& cosmology, int ranks);

/// The particles at one of the requested redshifts.
struct Output {
  double redshift;
  /// x in [0, L), q = (i + 1/2) L/N; p = a² dx/dt / H0 [Mpc/h] if config.keeps_momenta(). On several ranks particles
  /// are on any rank in any order, with ids() (qx N + qy) N + qz if contents.ids; a single rank has them in
  /// that order. With a line of sight x are positions in redshift space.
  const ParticleSet& particles;
  /// What contents ask to measure. Cloud in cell on the force mesh, corrected for its window but not for the
  /// particles' discreteness.
  fourier::PowerSpectrum power = {};  ///< up to the particles' Nyquist wavenumber
  fourier::CorrelationFunction correlation = {};
  fourier::Bispectrum bispectrum = {};  ///< up to config.bispectrum_limit()
};

/// Functions called during a simulation; any may be empty.
struct Observers {
  /// Receives the initial field's spectrum at D1 = 1 and the one it was drawn from, if contents.power_spectrum.
  std::function<void(const fourier::PowerSpectrum&, const LinearPower&)> initial = {};
  /// Receives the modes of the initial field at D1 = 1, on the lattice of the particles, if contents.initial_field. Its nodes
  /// are at i L/N, and particles begin half-way between them.
  std::function<void(const fourier::FourierMesh&)> field = {};
  /// Receives the particles of each output in real space, if contents.real_space, with q = i L/N: half a lattice cell before
  /// where `output` has them.
  std::function<void(const Output&)> real_space = {};
  std::function<void(const Step&)> step = {};      ///< called after each step
  std::function<void(const Output&)> output = {};  ///< called for each output, the earliest first
};

/// Simulates a universe from its initial field to the last output. Gives the same bits for any number of
/// ranks and threads, up to the order of particles, and at each redshift whatever the other redshifts are.
/// Collective. Throws, on every rank, Error{config} as validate(), Error{numeric} as a Stepper.
void simulate(const core::Communicator& comm, const SimulationConfig& config, const core::Universe& universe,
              const Observers& observers);

/// The time that a simulation takes, compared with others: 1 stands for one step of one cell of the force mesh. Measured on one
/// thread (Sapphire Rapids), for 64³ and 128³ particles, meshes of 0.75 to 3 times that, 5 to 40 steps; within 10 %
/// but for meshes of 1.5 times 64 (18 % too low). Integrators and force kernels differ by less than 10 %.
double relative_cost(const Box& box, const Gravity& gravity);

/// The number of threads beyond which more do not make a universe faster: one for 4096 particles. The second for 16³ gains nothing
/// alone, and beside a busy program, for which it waits, costs five sixths of the speed.
int useful_threads(const Box& box);

/// Predicted memory that the largest of `ranks` processes needs if Observers::output takes `of_observer` [bytes]. With several
/// ranks particles gather in some slabs: two standard deviations of the linear density in a slab today are allowed for.
std::size_t predicted_memory_bytes(const SimulationConfig& config, const core::Cosmology& cosmology,
                                   int ranks, std::size_t of_observer = 0);

}  // namespace cosmo::sim
