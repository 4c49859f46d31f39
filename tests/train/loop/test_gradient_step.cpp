// The gradient of a step of a network that normalises by the global batch, on several numbers of ranks.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "nn/filtered_phases.hpp"
#include "nn/initialise.hpp"
#include "nn/zoo/zoo.hpp"
#include "tests/dataset/small_dataset.hpp"
#include "tests/support/temporary_directory.hpp"
#include "train/gradient/gradient_step.hpp"

using namespace cosmo;

namespace {

constexpr std::uint32_t kSamples = 22;
constexpr int kOutputs = 2, kGlobalBatch = 8;
constexpr nn::Shape kInput{1, dataset::test::kSide};

const nn::NetworkSpec kNetwork = {"normalised",
                                  "voxels",
                                  {{"conv", {"voxels"}, nn::Convolution{8, 3, 1, 1, 0.01, true}},
                                   {"pool", {"conv"}, nn::AveragePool{2, 2}},
                                   {"mean", {"pool"}, nn::GlobalMean{}},
                                   {"drop", {"pool"}, nn::Dropout{0.3}},
                                   {"conv2", {"drop"}, nn::Convolution{5, 3, 1, 1, 0.01, true}},
                                   {"mean2", {"conv2"}, nn::GlobalMean{true}},
                                   {"levels", {"mean", "mean2"}, nn::Concat{}},
                                   {"normal", {"levels"}, nn::Normalise{}},
                                   {"hidden", {"normal"}, nn::Dense{7, 0.01}},
                                   {"out", {"hidden"}, nn::Dense{kOutputs}}}};

/// Loss and gradient of each step of an epoch.
std::vector<std::vector<double>> gradients(const core::Communicator& comm, dataset::SplitReader& reader,
                                           int micro_batch) {
  const int ranks = comm.size();
  dataset::DataLoader loader(reader, dataset::find_voxel_transform("log1p", {dataset::VoxelKind::counts, 8}),
                             {comm.rank(), ranks, kGlobalBatch, micro_batch, 3, true, true, true, 1});
  nn::Network network(kNetwork, kInput, kOutputs, micro_batch, nn::Mode::training);
  nn::initialise(network, 3);
  const int micro_batches = kGlobalBatch / (micro_batch * ranks);
  train::GradientReducer reducer(comm, network.gradients(), micro_batches);
  const nn::Output output("mse", kOutputs);
  train::GradientStep step(comm, network, reducer, {output, micro_batches, 1});
  std::vector<std::vector<double>> found;
  loader.start_epoch(0);
  train::StepLoss loss(reader, micro_batch);
  while (const auto batch = loader.next()) {
    step.take(*batch, 0, loss);
    if (!batch->last_of_step) continue;
    reducer.finish();
    found.push_back({train::agree(comm, loss.losses(), {}).loss});
    loss.reset();
    for (const nn::Parameter& parameter : network.parameters()) {
      std::vector<float> plain(parameter.elements());
      const bool measured = parameter.role == nn::Parameter::Role::statistics;
      network.copy_to_plain(parameter, measured ? parameter.values : parameter.gradient, plain);
      found.back().insert(found.back().end(), plain.begin(), plain.end());
    }
  }
  return found;
}

double norm(const std::vector<double>& values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
}

}  // namespace

TEST_CASE("a normalised step is the same however its samples are dealt to ranks and micro-batches") {
  const core::Communicator comm = core::Communicator::world();
  const TemporaryDirectory directory;
  const auto data = dataset::test::write_dataset(directory.path(), kSamples);
  dataset::SplitReader reader(directory.path(), data, dataset::Split::train);
  const auto expected = gradients(core::Communicator::self(), reader, kGlobalBatch);
  REQUIRE(expected.size() == 3);  // the last step has 6 samples
  for (const int micro_batch : {1, 2, 4, 8}) {
    if (kGlobalBatch % (micro_batch * comm.size()) != 0) continue;
    INFO(comm.size() << " ranks, micro-batch " << micro_batch);
    const auto found = gradients(comm, reader, micro_batch);
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      std::vector<double> difference = found[i];
      for (std::size_t k = 0; k < difference.size(); ++k) difference[k] -= expected[i][k];
      CHECK(norm(expected[i]) > 1e-2);
      CHECK(norm(difference) < 1e-5 * norm(expected[i]));
    }
  }
}

namespace {

/// The gradient of cosmonet32 for 48 volumes of 32³ log-normal counts, as different as universes are.
std::vector<double> gradient_of_cosmonet(const core::Communicator& comm, const dataset::SplitReader& reader,
                                         int micro_batch) {
  constexpr int kBatch = 48, kLabels = 3;
  constexpr nn::Shape kVolume{1, 32};
  const int ranks = comm.size(), micro_batches = kBatch / (micro_batch * ranks);
  const nn::NetworkSpec spec = nn::zoo::cosmonet32();
  const nn::FilteredPhases filtered = nn::choose_filtered(spec, nn::take_census(spec, kVolume, kLabels),
                                                          kBatch, nn::ConvolutionMethod::automatic);
  nn::Network network(spec, kVolume, kLabels, micro_batch, nn::Mode::training,
                      {nn::Precision::f32, filtered});
  nn::initialise(network, 3);
  train::GradientReducer reducer(comm, network.gradients(), micro_batches);
  const nn::Output output("mse", kLabels);
  train::GradientStep step(comm, network, reducer, {output, micro_batches, 1});
  train::StepLoss loss(reader, micro_batch);
  for (int first = comm.rank() * micro_batch; first < kBatch; first += ranks * micro_batch) {
    std::vector<float> voxels, targets;
    std::vector<std::uint32_t> samples;
    for (int sample = first; sample < first + micro_batch; ++sample) {
      std::mt19937 random(static_cast<unsigned>(sample));
      std::uniform_real_distribution<float> label(-1, 1);
      std::lognormal_distribution<float> counts(2 + 0.1f * label(random), 1);
      std::generate_n(std::back_inserter(voxels), kVolume.elements(),
                      [&] { return std::log1p(std::floor(counts(random))); });
      std::generate_n(std::back_inserter(targets), kLabels, [&] { return label(random); });
      samples.push_back(static_cast<std::uint32_t>(sample));
    }
    step.take({voxels, targets, micro_batch, samples, kBatch, first + ranks * micro_batch >= kBatch}, 0,
              loss);
  }
  reducer.finish();
  std::vector<double> gradient;
  for (const nn::Parameter& parameter : network.parameters()) {
    if (parameter.role == nn::Parameter::Role::statistics) continue;
    std::vector<float> plain(parameter.elements());
    network.copy_to_plain(parameter, parameter.gradient, plain);
    gradient.insert(gradient.end(), plain.begin(), plain.end());
  }
  return gradient;
}

}  // namespace

TEST_CASE("gradients that cancel in a normalisation do not depend on ranks and micro-batches") {
  const core::Communicator comm = core::Communicator::world();
  const TemporaryDirectory directory;
  const auto data = dataset::test::write_dataset(directory.path(), kSamples);
  const dataset::SplitReader reader(directory.path(), data, dataset::Split::train);
  const std::vector<double> expected = gradient_of_cosmonet(core::Communicator::self(), reader, 48);
  for (const int micro_batch : {3, 12}) {
    std::vector<double> difference = gradient_of_cosmonet(comm, reader, micro_batch);
    for (std::size_t k = 0; k < difference.size(); ++k) difference[k] -= expected[k];
    INFO(comm.size() << " ranks, micro-batch " << micro_batch << ": " << norm(difference) / norm(expected));
    CHECK(norm(difference) < 1e-5 * norm(expected));
  }
}

TEST_CASE("a normalised step names the sample that overflows, not the first one that it spoils") {
  const core::Communicator comm = core::Communicator::world();
  const TemporaryDirectory directory;
  const auto data = dataset::test::write_dataset(directory.path(), kSamples);
  const dataset::SplitReader reader(directory.path(), data, dataset::Split::train);
  nn::Network network(kNetwork, kInput, kOutputs, 4, nn::Mode::training);
  nn::initialise(network, 3);
  train::GradientReducer reducer(comm, network.gradients(), 2);
  const nn::Output output("mse", kOutputs);
  train::GradientStep step(comm, network, reducer, {output, 2, 1});
  train::StepLoss loss(reader, 4);
  const auto sample = static_cast<std::size_t>(kInput.elements());
  const std::vector<float> targets(4 * kOutputs, 0.0f);
  const bool is_last_rank = comm.rank() == comm.size() - 1;
  for (const bool last : {false, true}) {
    std::vector<float> voxels(4 * sample, 1.0f);
    const std::vector<std::uint32_t> samples =
        last ? std::vector<std::uint32_t>{9, 5, 7, 2} : std::vector<std::uint32_t>{1, 4, 6, 8};
    if (last && is_last_rank) voxels[2 * sample + 3] = std::numeric_limits<float>::infinity();
    step.take({voxels, targets, 4, samples, 8 * comm.size(), last}, 0, loss);
  }
  reducer.finish();
  CHECK_FALSE(std::isfinite(loss.losses().front()));
  CHECK_THROWS_WITH(loss.fail(comm, network, 0), Catch::Contains("first for sample 7 "));
}
