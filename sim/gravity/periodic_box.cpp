#include "sim/gravity/periodic_box.hpp"

#include "core/error.hpp"

namespace cosmo::sim {

void settle(ParticleSet& particles, bool stray, const core::Communicator& comm, const core::GridSpec& grid) {
  comm.agree([stray] {
    core::ensure(!stray, core::Fault::numeric,
                 "Some positions are no longer numbers: check the cosmology and --z-initial.");
  });
  particles.move_to_owners(comm, grid);
}

}  // namespace cosmo::sim
