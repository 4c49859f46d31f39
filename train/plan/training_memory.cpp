#include "train/plan/training_memory.hpp"

#include <algorithm>

#include "core/fourier/field_spectra.hpp"
#include "core/machine/memory.hpp"
#include "dataset/regression/learned_baselines.hpp"
#include "nn/model/inference.hpp"
#include "nn/model/model_posterior.hpp"
#include "nn/network.hpp"
#include "train/gradient/gradient_step.hpp"

namespace cosmo::train {

namespace {

constexpr int kCheckpoints = 3;  // the best, the last, and the next while it is written

/// Number of weights, biases and statistics.
std::int64_t arena_values(const nn::NetworkCensus& census) {
  return census.parameters() + census.statistics();
}

/// Memory of a checkpoint's largest array, which is copied into the order of the file.
std::int64_t writing_memory(const nn::NetworkCensus& census) {
  const auto largest = std::ranges::max_element(census.layers, {}, &nn::LayerCensus::weights);
  return static_cast<std::int64_t>(sizeof(float)) * largest->weights;
}

}  // namespace

std::int64_t rank_memory() {
  return static_cast<std::int64_t>(core::kLibraryMemory + core::resident_memory());
}

std::int64_t network_memory(const nn::NetworkSpec& spec, nn::Shape input, int outputs, int batch, int arenas,
                            const nn::Arithmetic& arithmetic, const nn::Share* share) {
  const std::size_t network =
      nn::Network::planned_bytes(spec, input, outputs, batch, nn::Mode::training, arithmetic, share);
  return static_cast<std::int64_t>(network) + arenas * static_cast<std::int64_t>(sizeof(float)) *
                                                  arena_values(nn::take_census(spec, input, outputs));
}

std::int64_t reduction_memory(SumOrder order, WireFormat wire, const nn::NetworkCensus& census, int ranks,
                              int micro_batches) {
  const std::int64_t values = arena_values(census);
  const std::size_t exchanged =
      ranks > 1 ? GradientSum::memory_bytes(static_cast<std::size_t>(values), wire) : 0;
  return GradientReducer::kept_sums(micro_batches, order) * values *
             static_cast<std::int64_t>(sizeof(float)) +
         static_cast<std::int64_t>(exchanged);
}

namespace {

/// Memory of the regressions, which are learned before the network is made [bytes].
std::int64_t baseline_memory(const TrainingPlan& plan, const dataset::DatasetManifest& data) {
  if (plan.objective.output.is_field()) return 0;
  const std::uint64_t training = dataset::regression_samples(data);
  const std::uint64_t validation =
      plan.network.spec.baseline.empty() ? 0 : data.split(dataset::Split::validation).samples;
  return static_cast<std::int64_t>(dataset::summary_bytes(data.spec, training + validation));
}

/// Memory of what a network predicts of both splits for the posterior of labels: outputs and features of all samples, and the
/// rows that are fitted, which grow [bytes].
std::size_t prediction_memory(const nn::NetworkCensus& census, const dataset::DatasetManifest& data,
                              int outputs) {
  const auto samples = [&](dataset::Split split) { return data.split(split).samples; };
  const nn::LayerCensus& last = *std::ranges::find_if(census.layers.rbegin(), census.layers.rend(),
                                                      [](const auto& layer) { return layer.weights > 0; });
  const auto width = static_cast<std::size_t>(outputs + last.weights / last.output.channels);
  const std::size_t most = kMostPosteriorUniverses * data.subvolumes;
  const std::size_t training = std::min<std::size_t>(samples(dataset::Split::train), most);
  return width *
         (sizeof(float) * std::max(samples(dataset::Split::train), samples(dataset::Split::validation)) +
          2 * sizeof(double) * (training + samples(dataset::Split::validation)));
}

/// Memory of the network that predicts for the posterior after the last epoch, and of what is read ahead for it [bytes].
std::int64_t posterior_memory(const TrainingPlan& plan, const nn::NetworkCensus& census,
                              const dataset::DatasetManifest& data) {
  const int outputs = plan.objective.output.shape().channels;
  const bool field = nn::has_field_posterior(plan.objective.target, outputs);
  if (!field && !nn::takes_posterior(plan.objective.output)) return 0;
  const int batch = field ? 1 : nn::batch_of(plan.input);
  const std::size_t network =
      nn::Network::planned_bytes(plan.network.spec, plan.input, outputs, batch, nn::Mode::inference,
                                 nn::arithmetic_of(plan.network.spec, plan.input, outputs));
  const std::size_t read =
      dataset::DataLoader::memory_bytes(data.spec, plan.objective.transform(data),
                                        {.micro_batch = batch, .target = plan.objective.target_map(data)});
  const std::size_t found = field ? fourier::FieldSpectra::memory_bytes(data.spec.side())
                                  : prediction_memory(census, data, outputs);
  const std::int64_t statistics = plan.network.spec.baseline.empty() ? 0 : baseline_memory(plan, data);
  return static_cast<std::int64_t>(network + read + found) + statistics;
}

}  // namespace

std::int64_t training_memory(const TrainingPlan& plan, const dataset::DatasetManifest& data,
                             const LoaderConfigs& loaders, const nn::Share* share) {
  const dataset::SampleSpec& spec = data.spec;
  const dataset::VoxelTransform transform = plan.objective.transform(data);
  const int ranks = loaders.training.ranks * plan.batching.cut.ranks_per_sample;
  const int micro_batches = plan.batching.micro_batches_per_step(ranks);
  const int arenas = plan.method.arenas();
  const nn::NetworkCensus census = plan.census();
  const auto loader_memory = [&](const dataset::LoaderConfig& loader) {
    return static_cast<std::int64_t>(dataset::DataLoader::memory_bytes(spec, transform, loader));
  };
  const std::int64_t network =
      network_memory(plan.network.spec, plan.input, plan.objective.output.shape().channels,
                     plan.batching.micro_batch, arenas, plan.formats.arithmetic, share) +
      reduction_memory(plan.batching.order, plan.formats.wire, census, ranks, micro_batches);
  std::int64_t outputs = plan.objective.output.values();
  if (share != nullptr && share->plan.cuts_output())
    outputs = outputs / plan.input.size * share->plan.output(share->rank).size();
  const auto step = static_cast<std::int64_t>(
      GradientStep::memory_bytes(census, dataset::voxels_in(spec, loaders.training.share),
                                 plan.batching.micro_batch, micro_batches) +
      sizeof(float) * static_cast<std::size_t>(plan.batching.micro_batch) *
          static_cast<std::size_t>(outputs) * (plan.objective.output.is_field() ? 2 : 1));
  // Between the steps, one after another: each gives its memory back.
  const std::int64_t between = std::max({census.normalised > 0 ? loader_memory(loaders.measured) : 0,
                                         loader_memory(loaders.validation), writing_memory(census),
                                         posterior_memory(plan, census, data)});
  using dataset::SplitReader;  // of the training split all voxels may be read through HDF5
  constexpr std::size_t kOfSample = 256;
  std::size_t open = SplitReader::open_memory(data, dataset::Split::train) +
                     kOfSample * (data.split(dataset::Split::train).samples +
                                  data.split(dataset::Split::validation).samples);
  if (data.origin.compression != dataset::Compression::none)
    open += SplitReader::open_memory(data, dataset::Split::validation);
  // rank_memory() includes oneDNN, which has planned the network.
  return rank_memory() + static_cast<std::int64_t>(open) +
         std::max(network + step + loader_memory(loaders.training) + between, baseline_memory(plan, data));
}

std::int64_t checkpoint_bytes(const TrainingPlan& plan, const nn::NetworkCensus& census) {
  constexpr std::int64_t kOfArray = 1 << 10, kRest = 1 << 14;  // HDF5's overhead, at most
  const auto arrays = static_cast<std::int64_t>(2 * plan.network.spec.layers.size());  // weights and biases
  return (1 + plan.method.arenas()) *
             (static_cast<std::int64_t>(sizeof(float)) * arena_values(census) + arrays * kOfArray) +
         kRest;
}

std::int64_t training_disk(const TrainingPlan& plan, const dataset::DatasetManifest& data,
                           const nn::NetworkCensus& census) {
  return kCheckpoints * checkpoint_bytes(plan, census) +
         static_cast<std::int64_t>(dataset::baselines_bytes(data.spec));
}

}  // namespace cosmo::train
