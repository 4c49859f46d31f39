#include "sim/nbody/redshift_space.hpp"

#include "sim/gravity/periodic_box.hpp"

namespace cosmo::sim {

void to_redshift_space(ParticleSet& particles, std::size_t axis, double shift, const core::Communicator& comm,
                       const core::GridSpec& grid) {
  Vector4 along = {};
  along[axis] = static_cast<float>(shift);
  const Wrap wrap(grid.box_size);
  float* x = particles.x().data();
  const float* p = particles.p().data();
  std::atomic<bool> stray = false;
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < 3 * particles.size(); i += 3)
    store3(x + i, wrap(load3(x + i) + along * load3(p + i), stray));
  settle(particles, stray, comm, grid);
}

}  // namespace cosmo::sim
