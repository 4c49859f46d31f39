#include "sim/nbody/stepper.hpp"

#include "core/error.hpp"

namespace cosmo::sim {

void Stepper::settle(ParticleSet& particles, bool stray) const {
  const auto& comm = forces_.communicator();
  comm.agree([stray] {
    core::ensure(!stray, core::Fault::numeric,
                 "Some positions are no longer numbers: check the cosmology and --z-initial.");
  });
  particles.move_to_owners(comm, forces_.grid());
}

}  // namespace cosmo::sim
