// The main of test programs that communicate: alone or under mpirun, where only rank 0 prints unless a rank
// fails.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <sstream>

#include "core/parallel/communicator.hpp"

int main(int argc, char** argv) {
  const cosmo::core::MpiSession session(argc, argv);
  const auto world = cosmo::core::Communicator::world();
  std::ostringstream silenced;
  auto* const terminal = Catch::cout().rdbuf();
  if (!world.is_root()) Catch::cout().rdbuf(silenced.rdbuf());
  const int failed = Catch::Session().run(argc, argv);
  Catch::cout().rdbuf(terminal);
  if (failed != 0 && !world.is_root()) Catch::cout() << "rank " << world.rank() << ":\n" << silenced.str();
  return failed;
}
