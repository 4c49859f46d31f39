// make_snapshot PATH PARTICLES_A_SIDE BOX REDSHIFT ordered|scattered: writes a snapshot of example particles.

#include <cstdio>
#include <string>

#include "core/error.hpp"
#include "tests/support/example_particles.hpp"

using namespace cosmo::core;

int main(int argc, char** argv) {
  const MpiSession session(argc, argv);
  if (argc != 6) return 2;
  const Communicator comm = Communicator::world();
  const std::uint64_t n = std::stoul(argv[2]);
  const OutputHeader header{.universe = {42, {.omega_m = 0.31, .h = 0.68}},
                            .box_size = std::stod(argv[3]),
                            .redshift = std::stod(argv[4]),
                            .particles = n * n * n};
  const ExampleParticles particles(comm, n, header.box_size, std::string(argv[5]) == "scattered");
  try {
    write_snapshot(comm, argv[1], header, particles.view());
  } catch (const Error& error) {
    if (comm.is_root()) std::fprintf(stderr, "%s\n", error.what());
    std::_Exit(error.exit_code());  // HDF5 may crash when it cleans up a file that it could not write
  }
}
