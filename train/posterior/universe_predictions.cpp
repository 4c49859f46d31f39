#include "train/posterior/universe_predictions.hpp"

#include <algorithm>
#include <map>

#include "core/error.hpp"
#include "core/finite.hpp"
#include "dataset/measure/phases.hpp"
#include "dataset/measure/prediction_table.hpp"
#include "dataset/regression/sample_statistics.hpp"
#include "nn/model/inference.hpp"

namespace cosmo::train {

namespace {

/// The network's labels and features of all samples of the split (samples, P + F), zeros for those that are not
/// predicted.
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
  const std::size_t width = nn::width_with_features(network);
  std::vector<float> all, batch_rows;
  all = dataset::predict_split(comm, to_predict, width, [&](const dataset::Batch& batch) {
    network.set_input(batch.voxels);
    nn::forward_with_features(network, batch_rows);
    return std::span<const float>(batch_rows);
  });
  comm.agree([&] {
    const std::optional<std::size_t> row = core::row_not_finite(all, width);
    core::ensure(!row, core::Fault::numeric, "The network's prediction of {} is not finite.",
                 row ? split.reader.describe(static_cast<std::uint32_t>(*row)) : "");
  });
  return all;
}

void add_row(nn::DensityPairs& pairs, std::span<const double> s, std::span<const float> labels,
             std::uint32_t universe) {
  pairs.s.insert(pairs.s.end(), s.begin(), s.end());
  for (const float label : labels) pairs.theta.push_back(std::clamp(double{label}, -1.0, 1.0));  // rounding
  pairs.universes.push_back(universe);
}

/// The rows of each universe, in the order of their first ones.
std::vector<std::vector<std::size_t>> rows_of_universes(const nn::DensityPairs& rows) {
  std::map<std::uint32_t, std::size_t> place;
  std::vector<std::vector<std::size_t>> rows_of;
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    const auto [entry, fresh] = place.try_emplace(rows.universes[row], rows_of.size());
    if (fresh) rows_of.emplace_back();
    rows_of[entry->second].push_back(row);
  }
  return rows_of;
}

/// The initial phases of each sample to predict.
std::vector<std::uint32_t> phases_of(const SamplesToPredict& split) {
  return dataset::phases_of(
      split.samples, [&](std::uint32_t i) -> const dataset::Sample& { return split.reader.sample(i); });
}

/// The means over some rows of values (rows, width).
std::vector<double> mean_of(std::span<const double> values, std::size_t width,
                            const std::vector<std::size_t>& rows) {
  std::vector<double> mean(width);
  for (const std::size_t row : rows) {
    for (std::size_t f = 0; f < width; ++f)
      mean[f] += values[row * width + f] / static_cast<double>(rows.size());
  }
  return mean;
}

/// The rows of two sets of pairs side by side.
nn::DensityPairs side_by_side(const nn::DensityPairs& left, const nn::DensityPairs& right) {
  nn::DensityPairs both{left.features + right.features, left.parameters, {}, left.theta, left.universes};
  for (std::size_t row = 0; row < left.rows(); ++row) {
    for (const std::span<const double> part : {left.s_of(row), right.s_of(row)})
      both.s.insert(both.s.end(), part.begin(), part.end());
  }
  return both;
}

}  // namespace

void UniversePredictions::put_beside(const UniversePredictions& others) {
  universes = side_by_side(universes, others.universes);
  subvolumes = side_by_side(subvolumes, others.subvolumes);
  universe_features = subvolume_features = {};
}

std::vector<std::uint32_t> unrolled_samples(const dataset::SplitReader& reader, std::size_t most) {
  std::vector<std::uint32_t> samples = dataset::samples_of_first_universes(reader, most);
  std::erase_if(samples, [&](std::uint32_t i) { return reader.sample(i).roll != 0; });
  return samples;
}

UniversePredictions predict_universes(const core::Communicator& comm, const SamplesToPredict& split,
                                      nn::Network& network) {
  const std::size_t count = split.reader.spec().parameters.size();
  const std::size_t more = split.regression.empty() ? 0 : count;
  const std::size_t width = nn::width_with_features(network), features = width - count;
  const std::vector<float> all = predict(comm, split, network);
  nn::DensityPairs rows{count + more, count, {}, {}, {}};
  nn::FeatureRows of_rows{features, {}};
  for (std::size_t i = 0; i < split.samples.size(); ++i) {
    const std::uint32_t sample = split.samples[i];
    const std::span<const float> own = std::span<const float>(all).subspan(sample * width, width);
    std::vector<double> s(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(count));
    const auto regression = std::span<const double>(split.regression).subspan(i * more, more);
    s.insert(s.end(), regression.begin(), regression.end());
    add_row(rows, s, split.reader.labels(sample), split.reader.sample(sample).simulation);
    of_rows.values.insert(of_rows.values.end(), own.end() - static_cast<std::ptrdiff_t>(features), own.end());
  }
  const std::vector<std::uint32_t> phases = phases_of(split);
  nn::DensityPairs universes{rows.features, rows.parameters, {}, {}, {}};
  nn::FeatureRows of_universes{features, {}};
  for (const std::vector<std::size_t>& mine : rows_of_universes(rows)) {
    const std::vector<double> s = mean_of(rows.s, rows.features, mine),
                              own = mean_of(of_rows.values, features, mine);
    const std::span<const double> theta = rows.theta_of(mine.front());
    universes.s.insert(universes.s.end(), s.begin(), s.end());
    universes.theta.insert(universes.theta.end(), theta.begin(), theta.end());
    universes.universes.push_back(phases[mine.front()]);
    of_universes.values.insert(of_universes.values.end(), own.begin(), own.end());
  }
  rows.universes = phases;  // cross-validation keeps twins together
  return {std::move(universes), std::move(rows), std::move(of_universes), std::move(of_rows)};
}

}  // namespace cosmo::train
