#include "histogram/particles/particle_file.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/file/input_file.hpp"
#include "histogram/particles/binary_particles.hpp"
#include "histogram/particles/hdf5_particles.hpp"

namespace cosmo::histogram {

void remark_on_curvature(double matter, double dark_energy, std::vector<std::string>& remarks) {
  constexpr double kRounding = 2e-3;
  if (dark_energy != 0 && std::abs(matter + dark_energy - 1) > kRounding)
    remarks.push_back(fmt::format(
        "the densities of matter and dark energy are {:.4g} and {:.4g}, and a flat universe is recorded",
        matter, dark_energy));
}

std::unique_ptr<ParticleFile> ParticleFile::open(const std::filesystem::path& path) {
  (void)core::ensure_readable(path);
  if (BinaryParticles::is_one(path)) return std::make_unique<BinaryParticles>(path);
  return std::make_unique<Hdf5Particles>(path);
}

}  // namespace cosmo::histogram
