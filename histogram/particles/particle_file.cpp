#include "histogram/particles/particle_file.hpp"

#include "core/file/input_file.hpp"
#include "histogram/particles/binary_particles.hpp"
#include "histogram/particles/hdf5_particles.hpp"

namespace cosmo::histogram {

std::unique_ptr<ParticleFile> ParticleFile::open(const std::filesystem::path& path) {
  (void)core::ensure_readable(path);
  if (BinaryParticles::is_one(path)) return std::make_unique<BinaryParticles>(path);
  return std::make_unique<Hdf5Particles>(path);
}

}  // namespace cosmo::histogram
