#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "core/communicator.hpp"
#include "core/random.hpp"
#include "train/gradient_reducer.hpp"
#include "train/nn/initialise.hpp"
#include "train/nn/loss.hpp"
#include "train/nn/zoo/zoo.hpp"

using namespace cosmo;

namespace {

constexpr int kSamples = 4;
constexpr int kOutputs = 3;
constexpr nn::Shape kInput{1, 32};

/// Sample i of the batch that every layout of ranks and micro-batches works on.
void fill(std::span<float> voxels, int first_sample) {
  const core::RandomStream stream(5, core::Purpose::gaussian_field);
  const auto cells = static_cast<std::size_t>(kInput.elements());
  for (std::size_t i = 0; i < voxels.size(); ++i) {
    const auto sample = static_cast<std::uint32_t>(first_sample) + static_cast<std::uint32_t>(i / cells);
    voxels[i] = static_cast<float>(stream.normals({sample, static_cast<std::uint32_t>(i % cells), 0})[0]);
  }
}

/// Forward, loss and backward of samples [first, first + network.batch()).
void run_micro_batch(nn::Network& network, train::GradientReducer& reducer, int first) {
  fill(network.input(), first);
  std::vector<float> targets;
  for (int i = 0; i < network.batch() * kOutputs; ++i) {
    targets.push_back(0.1f * static_cast<float>(first * kOutputs + i) - 0.5f);
  }
  std::vector<float> d_output(targets.size());
  nn::mean_squared_error(d_output, network.forward(), targets, {kOutputs, network.batch(), kSamples});
  network.backward(d_output, [&](std::span<float> part) { reducer.ready(part); });
}

/// All gradients in plain layouts, one parameter after another.
std::vector<double> plain_gradient(const nn::Network& network) {
  std::vector<double> all;
  for (const nn::Parameter& parameter : network.parameters()) {
    std::vector<float> plain(parameter.elements());
    network.copy_to_plain(parameter, parameter.gradient, plain);
    all.insert(all.end(), plain.begin(), plain.end());
  }
  return all;
}

double norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

}  // namespace

TEST_CASE("a step's gradient is the same however its samples are dealt to ranks and micro-batches") {
  const core::Communicator comm = core::Communicator::world();
  const nn::NetworkSpec spec = nn::with_outputs(nn::find_network("cosmoflow32"), kOutputs);

  nn::Network whole(spec, kInput, kOutputs, kSamples, nn::Mode::training);
  nn::initialise(whole, 1);
  {  // the reference: all samples at once on this rank; a reducer of one micro-batch leaves gradients as they
     // are
    train::GradientReducer untouched(comm, whole.gradients(), 1);
    run_micro_batch(whole, untouched, 0);
  }

  const int micro_batch = GENERATE(1, 2);
  if (kSamples % (micro_batch * comm.size()) != 0) return;
  const int micro_batches = kSamples / (micro_batch * comm.size());
  nn::Network part(spec, kInput, kOutputs, micro_batch, nn::Mode::training);
  nn::initialise(part, 1);
  train::GradientReducer reducer(comm, part.gradients(), micro_batches);
  for (int step = 0; step < 2; ++step) {  // the second step must not remember the first
    for (int m = 0; m < micro_batches; ++m) {
      run_micro_batch(part, reducer, (comm.rank() * micro_batches + m) * micro_batch);
      reducer.finish();
    }
    std::vector<double> expected = plain_gradient(whole);
    std::vector<double> difference = plain_gradient(part);
    for (std::size_t i = 0; i < expected.size(); ++i) difference[i] -= expected[i];
    INFO(comm.size() << " ranks, micro-batch " << micro_batch << ", step " << step);
    CHECK(norm(expected) > 1e-3);
    CHECK(norm(difference) < 1e-5 * norm(expected));
  }
}

TEST_CASE("every rank gets the same bits of the reduced gradient") {
  const core::Communicator comm = core::Communicator::world();
  const nn::NetworkSpec spec = nn::with_outputs(nn::find_network("cosmoflow32"), kOutputs);
  nn::Network network(spec, kInput, kOutputs, 1, nn::Mode::training);
  nn::initialise(network, 1);
  train::GradientReducer reducer(comm, network.gradients(), 1);
  run_micro_batch(network, reducer, comm.rank());
  reducer.finish();
  const std::span<const float> gradient = network.gradients();
  std::vector<float> of_root(gradient.begin(), gradient.end());
  comm.broadcast(std::span(of_root));
  CHECK(std::equal(gradient.begin(), gradient.end(), of_root.begin()));
}
