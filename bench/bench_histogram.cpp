// Speed of counting float32 positions (particles, 3) of a raw file in memory, compared with reading them.

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <string>

#include "core/buffer.hpp"
#include "core/error.hpp"
#include "core/run/tool.hpp"
#include "histogram/particle_counter.hpp"

using namespace cosmo;

namespace {

constexpr int kRepetitions = 7;

core::Buffer<float> read_positions(const std::string& path) {
  core::ensure(std::filesystem::is_regular_file(path), core::Fault::io,
               "{} is not a file: give --positions a file of float32.", path);
  core::Buffer<float> positions(std::filesystem::file_size(path) / sizeof(float));
  std::ifstream(path, std::ios::binary)
      .read(reinterpret_cast<char*>(positions.data()),
            static_cast<std::streamsize>(positions.span().size_bytes()));
  return positions;
}

/// Seconds of the fastest repetition.
double fastest(const std::function<void()>& work) {
  double best = 1e9;
  for (int r = 0; r < kRepetitions; ++r) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

double sum(std::span<const float> values) {
  constexpr std::size_t kBlock = 4096, kChains = 64;  // independent sums
  double total = 0;
#pragma omp parallel for schedule(static) reduction(+ : total)
  for (std::size_t first = 0; first < values.size() / kBlock * kBlock; first += kBlock) {
    std::array<float, kChains> parts{};
    for (std::size_t i = first; i < first + kBlock; i += kChains) {
#pragma omp simd
      for (std::size_t k = 0; k < kChains; ++k) parts[k] += values[i + k];
    }
    total += std::accumulate(parts.begin(), parts.end(), 0.0);
  }
  return total;
}

void declare(core::Options& options) {
  options.add("positions FILE", std::nullopt, "file of float32 (particles, 3)");
  options.add("grid N", "256", "voxels per side");
  options.add("box X", "512", "side of the periodic box, in the positions' unit");
  options.add("counts FILE", std::nullopt, "file to write: uint16, voxels per side cubed");
}

void run_benchmark(const core::Invocation& run) {
  const core::Buffer<float> positions = read_positions(run.options.text("positions"));
  const core::GridSpec spec{static_cast<int>(run.options.integer("grid", 1, 4096)),
                            run.options.number("box")};
  double total = 0;
  const double floor = fastest([&] { total = sum(positions.span()); });
  const double count = fastest([&] { histogram::count_particles(run.comm, spec, positions.span()); });
  const histogram::CountGrid grid = histogram::count_particles(run.comm, spec, positions.span());
  const std::string& path = run.options.text("counts");
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(grid.counts().data()),
             static_cast<std::streamsize>(grid.counts().size_bytes()));
  core::ensure(file.good(), core::Fault::io, "{} cannot be written: give --counts another path.", path);
  const core::Json summary = {{"particles", positions.size() / 3},
                              {"threads", run.threads},
                              {"read_seconds", floor},
                              {"count_seconds", count},
                              {"mean_coordinate", total / static_cast<double>(positions.size())}};
  run.report(summary,
             fmt::format("{} particles, {} threads: counted in {:.4f} s, {:.1f} times reading them\n",
                         positions.size() / 3, run.threads, count, count / floor));
}

}  // namespace

int main(int argc, char** argv) {
  return core::run_tool(argc, argv,
                        {"bench-histogram",
                         "counting particles compared with reading their positions",
                         {},
                         {{"", "times counting the particles of a file in memory",
                           "bench-histogram --positions lattice.raw --grid 256 --box 512 --counts counts.raw",
                           false, core::OnStop::end, &declare, &run_benchmark}}});
}
