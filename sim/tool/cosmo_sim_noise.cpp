#include "sim/tool/cosmo_sim_noise.hpp"

#include <algorithm>
#include <filesystem>

#include "core/error.hpp"
#include "core/file/files.hpp"
#include "sim/linear/gaussian_field.hpp"
#include "sim/linear/noise_file.hpp"

namespace cosmo::sim {

using core::ensure;
using core::Fault;

namespace {

namespace fs = std::filesystem;

/// Throws Error{config} if something is at `path` that may not be replaced.
void ensure_replaceable(const fs::path& path, bool force) {
  if (!fs::exists(path)) return;
  ensure(fs::is_regular_file(path) && is_noise(path), Fault::config,
         "--output {} is not a file of white noise: choose another name.", path.string());
  ensure(force, Fault::config, "--output {} is there already: give --force to replace it, or another name.",
         path.string());
}

}  // namespace

void declare_noise(core::Options& options) {
  options.add("seed", std::nullopt, "seed of a universe, as in its suite's manifest");
  options.add("particles", std::nullopt, "values per side");
  options.add("output", std::nullopt,
              "file to write: .npy, or with any other name grafic, as MUSIC and monofonIC read it");
  options.add_flag("force", "replace a file of white noise that is there");
}

void run_noise(const core::Invocation& run) {
  fs::path path;
  core::GridSpec grid{0, 1};
  std::uint64_t seed = 0;
  run.comm.agree([&] {
    path = run.options.text("output");
    seed = run.options.seed("seed");
    grid.cells_per_side =
        static_cast<int>(run.options.integer("particles", std::max(4, run.comm.size()), 8192));
    ensure_replaceable(path, run.options.flag("force"));
  });
  fourier::FourierMesh noise(run.comm, grid);
  white_noise(noise, seed);
  const fs::path part = path.string() + ".part";
  run.comm.agree([&] {
    if (run.comm.is_root()) core::make_directory(fs::absolute(path).parent_path());
  });
  try {
    write_noise(noise, seed, path, part);
  } catch (...) {
    std::error_code ignored;
    if (run.comm.is_root()) fs::remove(part, ignored);
    throw;
  }
  run.comm.agree([&] {
    if (run.comm.is_root()) core::publish_file(part, path);
  });
  run.report({{"output", path.string()}, {"seed", seed}, {"particles", grid.cells_per_side}},
             fmt::format("{}: {} of white noise of seed {}\n", path.string(),
                         core::format_bytes(static_cast<double>(grid.cells() * sizeof(float))), seed));
}

}  // namespace cosmo::sim
