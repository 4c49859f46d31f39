// bench-histogram POSITIONS CELLS BOX COUNTS: how fast float32 positions (particles, 3) of a raw file are
// counted from memory, against reading them. Prints one JSON object and writes the counts (cells³ uint16) to
// COUNTS.

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <string>

#include "core/buffer.hpp"
#include "core/json.hpp"
#include "histogram/particle_counter.hpp"

using namespace cosmo;

namespace {

constexpr int kRepetitions = 7;

core::Buffer<float> read_positions(const char* path) {
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
  constexpr std::size_t kBlock = 4096, kChains = 64;  // sums that do not wait for each other
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

}  // namespace

int main(int argc, char** argv) {
  core::MpiSession session(argc, argv);
  if (argc != 5) return 2;
  const core::Communicator comm = core::Communicator::world();
  const core::Buffer<float> positions = read_positions(argv[1]);
  const core::GridSpec spec{std::stoi(argv[2]), std::stod(argv[3])};
  double total = 0;
  const double floor = fastest([&] { total = sum(positions.span()); });
  const double count = fastest([&] { histogram::count_particles(comm, spec, positions.span()); });
  const histogram::CountGrid grid = histogram::count_particles(comm, spec, positions.span());
  std::ofstream(argv[4], std::ios::binary)
      .write(reinterpret_cast<const char*>(grid.counts().data()),
             static_cast<std::streamsize>(grid.counts().size_bytes()));
  const core::Json result = {{"particles", positions.size() / 3},
                             {"threads", omp_get_max_threads()},
                             {"read_seconds", floor},
                             {"count_seconds", count},
                             {"mean_coordinate", total / static_cast<double>(positions.size())}};
  fmt::print("{}\n", result.dump());
}
