#include "sim/nbody/redshift_space.hpp"

#include <cmath>

#include "core/error.hpp"

namespace cosmo::sim {

void to_redshift_space(ParticleSet& particles, std::size_t axis, double shift, const core::Communicator& comm,
                       const core::GridSpec& grid) {
  const auto box = static_cast<float>(grid.box_size), factor = static_cast<float>(shift);
  float* x = particles.x().data();
  const float* p = particles.p().data();
  bool good = true;
#pragma omp parallel for schedule(static) reduction(&& : good)
  for (std::size_t i = axis; i < 3 * particles.size(); i += 3) {
    const float moved = x[i] + factor * p[i];
    const float rest = moved - box * std::floor(moved / box);
    // Rounding may give a little less than 0, or the box size itself.
    const float wrapped = rest < 0 ? rest + box : rest;
    good = good && wrapped >= 0 && wrapped <= box;
    x[i] = wrapped < box ? wrapped : 0;
  }
  comm.agree([good] {
    core::ensure(good, core::Fault::numeric,
                 "Some positions in redshift space are not numbers: check the cosmology and --z-initial.");
  });
  particles.move_to_owners(comm, grid);
}

}  // namespace cosmo::sim
