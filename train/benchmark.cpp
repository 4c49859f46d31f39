#include "train/benchmark.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "core/memory.hpp"
#include "core/random.hpp"
#include "train/fma_peak.hpp"
#include "train/gradient_reducer.hpp"
#include "train/larc_adam.hpp"
#include "train/nn/initialise.hpp"
#include "train/nn/loss.hpp"

namespace cosmo::train {

namespace {

constexpr int kOutputs = 3;
constexpr int kWarmUp = 2;
constexpr int kFewest = 7;       ///< timed steps
constexpr double kDuration = 3;  ///< [s] of timed steps, if that is more

void fill_with_noise(std::span<float> voxels) {
  const core::RandomStream stream(1, core::Purpose::gaussian_field);
  for (std::size_t i = 0; i < voxels.size(); ++i) {
    voxels[i] = static_cast<float>(stream.normals({static_cast<std::uint32_t>(i), 0, 0})[0]);
  }
}

}  // namespace

double BenchmarkResult::useful_rate() const {
  return static_cast<double>(census.useful_flop()) * batch * ranks / step_time;
}

core::Json BenchmarkResult::to_json() const {
  return {{"parameters", census.parameters()},
          {"weights", census.weights()},
          {"useful_gflop", static_cast<double>(census.useful_flop()) / 1e9},
          {"paper_gflop", static_cast<double>(census.paper_flop()) / 1e9},
          {"batch", batch},
          {"ranks", ranks},
          {"step_ms", step_time * 1e3},
          {"useful_gflops", useful_rate() / 1e9},
          {"peak_gflops", peak / 1e9},
          {"fraction_of_peak", useful_rate() / peak},
          {"peak_rss_bytes", static_cast<std::uint64_t>(peak_rss)}};
}

BenchmarkResult benchmark(const core::Communicator& comm, const nn::NetworkSpec& spec, nn::Shape input,
                          int batch, int threads) {
  nn::Network network(spec, input, kOutputs, batch, nn::Mode::training);
  nn::initialise(network, 1);
  LarcAdamConfig optimizer_config;
  optimizer_config.learning_rate.decay_steps = 1000;
  LarcAdam optimizer(network.parameters(), optimizer_config);
  GradientReducer reducer(comm, network.gradients(), 1);
  const nn::LossRows rows{kOutputs, batch, static_cast<double>(batch) * comm.size()};
  const std::vector<float> targets(static_cast<std::size_t>(batch) * kOutputs, 0.25f);
  std::vector<float> d_output(targets.size());
  fill_with_noise(network.input());

  std::vector<double> times;
  double total = 0;
  for (int step = 0; step < kWarmUp + kFewest || total < kDuration; ++step) {
    const auto start = std::chrono::steady_clock::now();
    nn::mean_absolute_error(d_output, network.forward(), targets, rows);
    network.backward(d_output, [&](std::span<float> part) { reducer.ready(part); });
    reducer.finish();
    optimizer.step(step);
    const double time =
        comm.max(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    if (step >= kWarmUp) {
      times.push_back(time);
      total += time;
    }
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return {network.census(),
          batch,
          comm.size(),
          times[times.size() / 2],
          comm.sum(measure_fma_peak(threads)),
          static_cast<double>(comm.max(core::peak_resident_memory()))};
}

}  // namespace cosmo::train
