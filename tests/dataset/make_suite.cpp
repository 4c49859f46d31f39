// make_suite DIRECTORY SIMULATIONS GRID [VARYING [SHARED_SEED [HEAP]]]: a suite as cosmo-sim generate leaves
// it, but of clustered random particles. VARYING parameters of the table vary; with SHARED_SEED, unless it is
// "", all have one seed. HEAP more particles are in the first voxel of each.

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/output/output_directory.hpp"
#include "core/random.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "histogram/count_file.hpp"

using namespace cosmo;

namespace {

constexpr double kBox = 64;

std::vector<float> random_positions(std::uint64_t seed, std::uint32_t particles, std::uint32_t heap) {
  const core::RandomStream stream(seed, core::Purpose::gaussian_field);
  std::vector<float> positions;
  for (std::uint32_t i = 0; i < 3 * particles; ++i) {
    const double x = stream.uniform({i, 0, 0});
    positions.push_back(static_cast<float>(kBox * x * std::sqrt(x)));
  }
  positions.resize(positions.size() + std::size_t{3} * heap, 0.0f);
  return positions;
}

core::SimulationManifest plan(int simulations, int grid, std::size_t varying, bool shared_seed) {
  core::SimulationManifest suite;
  suite.box_size = core::Length(kBox);
  suite.grid = grid;
  const core::RandomStream stream(1, core::Purpose::design);
  for (std::uint32_t s = 0; s < static_cast<std::uint32_t>(simulations); ++s) {
    core::SimulationRecord record{
        s + 10, {shared_seed ? 5u : 1000u + s, {}}, {{0, fmt::format("sim-{:05}/counts_z0.h5", s), ""}}, ""};
    for (std::uint32_t p = 0; p < varying; ++p) {
      double& value = record.universe.cosmology.*core::kCosmologyParameters[p].member;
      value *= 0.9 + 0.2 * stream.uniform({s, p, 0});
    }
    suite.simulations.push_back(record);
  }
  for (std::size_t p = 0; p < varying; ++p) {
    const double centre = core::Cosmology{}.*core::kCosmologyParameters[p].member;
    suite.parameters.names.emplace_back(core::kCosmologyParameters[p].name);
    suite.parameters.low.push_back(0.9 * centre);
    suite.parameters.high.push_back(1.1 * centre);
  }
  return suite;
}

void make(const core::Communicator& comm, const std::string& directory, const core::SimulationManifest& suite,
          std::uint32_t heap) {
  const core::Log log(true, true);
  const core::Request request{
      "generate", {{"grid", suite.grid}, {"simulations", suite.simulations.size()}}, {}};
  core::OutputDirectory output(comm, log, directory, request, {});
  const core::GridSpec spec{suite.grid, kBox};
  const auto particles = static_cast<std::uint32_t>(8 * spec.cells());
  for (const core::SimulationRecord& record : suite.simulations) {
    const auto grid =
        histogram::count_particles(comm, spec, random_positions(record.universe.seed, particles, heap));
    output.add(record.counts(), [&](const std::filesystem::path& path) {
      histogram::write_counts(
          comm, path, {{record.universe, spec.box_size, 0, particles + heap, {}}, spec.cells_per_side}, grid);
    });
  }
  output.finish("make_suite", suite.details(), core::Json::object());
}

}  // namespace

int main(int argc, char** argv) {
  core::MpiSession session(argc, argv);
  if (argc < 4) return 2;
  try {
    make(core::Communicator::world(), argv[1],
         plan(std::stoi(argv[2]), std::stoi(argv[3]), argc > 4 ? std::stoul(argv[4]) : 3,
              argc > 5 && *argv[5] != 0),
         argc > 6 ? static_cast<std::uint32_t>(std::stoul(argv[6])) : 0);
  } catch (const core::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.exit_code();
  }
}
