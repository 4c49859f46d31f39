#include "train/posterior/universe_predictions.hpp"

#include <algorithm>
#include <map>

#include "core/error.hpp"
#include "core/finite.hpp"
#include "dataset/measure/prediction_table.hpp"
#include "dataset/regression/sample_statistics.hpp"

namespace cosmo::train {

namespace {

/// The network's labels of all samples of the split (samples, P), zeros for those that are not predicted.
std::vector<float> predict(const core::Communicator& comm, const SamplesToPredict& split,
                           nn::Network& network) {
  const dataset::LoaderConfig loading = {.rank = comm.rank(),
                                         .ranks = comm.size(),
                                         .global_batch = network.batch() * comm.size(),
                                         .micro_batch = network.batch(),
                                         .only = split.samples,
                                         .releases = true};
  std::optional<dataset::DataLoader> loader;
  comm.agree([&] { loader.emplace(split.reader, split.transform, loading); });
  const dataset::SplitToPredict to_predict{split.reader, *loader, split.reader.spec().parameters};
  const std::size_t width = to_predict.parameters.size();
  std::vector<float> labels =
      dataset::predict_split(comm, to_predict, width, [&](const dataset::Batch& batch) {
        network.set_input(batch.voxels);
        return network.forward();
      });
  comm.agree([&] {
    const std::optional<std::size_t> row = core::row_not_finite(labels, width);
    core::ensure(!row, core::Fault::numeric, "The network's prediction of {} is not finite.",
                 row ? split.reader.describe(static_cast<std::uint32_t>(*row)) : "");
  });
  return labels;
}

void add_row(nn::DensityPairs& pairs, std::span<const double> s, std::span<const float> labels,
             std::uint32_t universe) {
  pairs.s.insert(pairs.s.end(), s.begin(), s.end());
  for (const float label : labels) pairs.theta.push_back(std::clamp(double{label}, -1.0, 1.0));  // rounding
  pairs.universes.push_back(universe);
}

/// The means over the rows of each universe, in the order of their first rows.
nn::DensityPairs mean_of_universes(const nn::DensityPairs& rows) {
  std::map<std::uint32_t, std::vector<std::size_t>> rows_of;
  std::vector<std::uint32_t> order;
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    std::vector<std::size_t>& mine = rows_of[rows.universes[row]];
    if (mine.empty()) order.push_back(rows.universes[row]);
    mine.push_back(row);
  }
  nn::DensityPairs means{rows.features, rows.parameters, {}, {}, {}};
  for (const std::uint32_t universe : order) {
    const std::vector<std::size_t>& mine = rows_of[universe];
    std::vector<double> mean(rows.features);
    for (const std::size_t row : mine) {
      for (std::size_t f = 0; f < mean.size(); ++f)
        mean[f] += rows.s_of(row)[f] / static_cast<double>(mine.size());
    }
    const std::span<const double> theta = rows.theta_of(mine.front());
    means.s.insert(means.s.end(), mean.begin(), mean.end());
    means.theta.insert(means.theta.end(), theta.begin(), theta.end());
    means.universes.push_back(universe);
  }
  return means;
}

}  // namespace

std::vector<std::uint32_t> unrolled_samples(const dataset::SplitReader& reader, std::size_t most) {
  std::vector<std::uint32_t> samples = dataset::samples_of_first_universes(reader, most);
  std::erase_if(samples, [&](std::uint32_t i) { return reader.sample(i).roll != 0; });
  return samples;
}

UniversePredictions predict_universes(const core::Communicator& comm, const SamplesToPredict& split,
                                      nn::Network& network) {
  const std::vector<float> labels = predict(comm, split, network);
  const std::size_t count = split.reader.spec().parameters.size();
  const std::size_t more = split.regression.empty() ? 0 : count;
  nn::DensityPairs rows{count + more, count, {}, {}, {}};
  for (std::size_t i = 0; i < split.samples.size(); ++i) {
    const std::uint32_t sample = split.samples[i];
    const std::span<const float> own = std::span<const float>(labels).subspan(sample * count, count);
    std::vector<double> s(own.begin(), own.end());
    const auto regression = std::span<const double>(split.regression).subspan(i * more, more);
    s.insert(s.end(), regression.begin(), regression.end());
    add_row(rows, s, split.reader.target(sample), split.reader.sample(sample).simulation);
  }
  nn::DensityPairs universes = mean_of_universes(rows);
  return {std::move(universes), std::move(rows)};
}

}  // namespace cosmo::train
