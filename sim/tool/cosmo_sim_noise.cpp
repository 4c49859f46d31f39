#include "sim/tool/cosmo_sim_noise.hpp"

#include <algorithm>
#include <filesystem>

#include "core/run/dry_run.hpp"
#include "sim/linear/gaussian_field.hpp"
#include "sim/linear/noise_file.hpp"

namespace cosmo::sim {

namespace {

namespace fs = std::filesystem;

/// Collective.
void make_noise(const core::Communicator& comm, const core::GridSpec& grid, std::uint64_t seed,
                const fs::path& path) {
  fourier::FourierMesh noise(comm, grid);
  white_noise(noise, seed);
  publish_noise(noise, seed, path);
}

}  // namespace

void declare_noise(core::Options& options) {
  options.add("seed N", std::nullopt, "seed of a universe, as in its suite's manifest");
  options.add("particles N", std::nullopt, "values per side");
  options.add("output FILE", std::nullopt,
              "file to write: .npy, or with any other name grafic, as MUSIC and monofonIC read it");
  options.add_flag("force", "replace a file of white noise that is there");
  options.add_flag("dry-run", "print what would be written, and stop");
}

void run_noise(const core::Invocation& run) {
  const bool dry_run = run.options.flag("dry-run");
  fs::path path;
  core::GridSpec grid{0, 1};
  std::uint64_t seed = 0;
  core::Json refusals = core::Json::array();
  run.comm.agree([&] {
    path = run.options.text("output");
    seed = run.options.seed("seed");
    grid.cells_per_side =
        static_cast<int>(run.options.integer("particles", std::max(4, run.comm.size()), 8192));
    core::refuse_or_report(run, refusals,
                           [&] { ensure_replaceable_noise(path, "output", run.options.flag("force")); });
  });
  core::Json facts = {{"output", path.string()}, {"seed", seed}, {"particles", grid.cells_per_side}};
  if (dry_run)
    facts.update({{"dry_run", true}, {"refusals", refusals}});
  else
    make_noise(run.comm, grid, seed, path);
  run.report(facts,
             fmt::format("{}{}: {} of white noise of seed {}\n", dry_run ? "would write " : "", path.string(),
                         core::format_bytes(static_cast<double>(grid.cells() * sizeof(float))), seed));
}

}  // namespace cosmo::sim
