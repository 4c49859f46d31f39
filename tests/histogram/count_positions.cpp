// count_positions POSITIONS CELLS BOX OUTPUT: counts float32 positions (particles, 3) [Mpc/h] of a raw file,
// of which each rank takes an equal part, and writes them as a count file. Prints the seconds of counting.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/timer.hpp"
#include "histogram/count_file.hpp"

using namespace cosmo;

namespace {

std::vector<float> read_part(const std::string& path, const core::Communicator& comm) {
  const auto particles = static_cast<int>(std::filesystem::file_size(path) / (3 * sizeof(float)));
  const core::Slab part = core::slab_of(particles, comm.rank(), comm.size());
  std::vector<float> positions(3 * static_cast<std::size_t>(part.size()));
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(3 * sizeof(float)) * part.first);
  file.read(reinterpret_cast<char*>(positions.data()),
            static_cast<std::streamsize>(positions.size() * sizeof(float)));
  return positions;
}

void count(const core::Communicator& comm, char** argv) {
  const std::vector<float> positions = read_part(argv[1], comm);
  const core::GridSpec spec{std::stoi(argv[2]), std::stod(argv[3])};
  const core::Timer timer;
  const auto grid = histogram::count_particles(comm, spec, positions);
  const double seconds = timer.seconds();
  const auto particles = comm.sum(static_cast<std::uint64_t>(positions.size() / 3));
  histogram::write_counts(
      comm, argv[4],
      {{.universe = {42, {}}, .box_size = spec.box_size, .particles = particles}, spec.cells_per_side}, grid);
  if (comm.is_root()) std::printf("%.4f\n", seconds);
}

}  // namespace

int main(int argc, char** argv) {
  core::MpiSession session(argc, argv);
  if (argc != 5) return 2;
  const core::Communicator comm = core::Communicator::world();
  try {
    count(comm, argv);
  } catch (const core::Error& error) {
    if (comm.is_root()) std::fprintf(stderr, "%s\n", error.what());
    return error.exit_code();
  }
}
