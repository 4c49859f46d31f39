#include "infer/doubt/familiarity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <type_traits>

#include "dataset/voxels/augmentation.hpp"
#include "infer/predict/predictor.hpp"

namespace cosmo::infer {

namespace {

constexpr double kShareBeyond = 0.5;     ///< share of the range in training
constexpr double kLeastBeyond = 0.1;     ///< on a logarithmic scale
constexpr double kShareOutside = 0.1;    ///< share of a parameter's range that predictions may be outside by
constexpr double kRareUniverses = 0.01;  ///< share of universes that may be outside by more
constexpr std::size_t kMostSamples = 64, kFewSamples = 8;  ///< samples of a split
constexpr std::size_t kMostVoxels = std::size_t{1} << 24;  ///< voxels of a split, beyond a few samples

}  // namespace

double Familiarity::Figure::oddity(double average, int n) const {
  const auto scaled = [&](double x) { return logarithmic ? std::log(x) : x; };
  const double share = kShareBeyond * (scaled(high) - scaled(low)) / std::sqrt(n);
  const double margin = std::max(share, logarithmic ? kLeastBeyond : 0);
  return std::max(scaled(low) - scaled(average), scaled(average) - scaled(high)) / margin;
}

bool Familiarity::Figure::add(double sample, std::size_t universe) {
  ++samples;
  sum += sample;
  const double odd = oddity(sample, 1);
  if (!(odd > 1)) return false;
  ++strange;
  strange_universes.insert(universe);
  if (odd <= furthest) return true;
  furthest = odd;
  value = sample;
  return true;
}

Familiarity::Familiarity(const nn::ModelManifest& model) {
  if (!model.range) return;
  const dataset::VoxelScale scale = scale_of(model);
  const bool counts = scale.kind == dataset::VoxelKind::counts;
  const core::Length voxel = model.input.voxel_size;
  voxels_ = dataset::Box(model.input.size).voxels();
  summary_.emplace(core::GridSpec{model.input.size, voxel.value * model.input.size}, scale);
  for (std::size_t c = 0; c < model.range->channels.size(); ++c) {
    const nn::ChannelRange& range = model.range->channels[c];
    const std::string redshift =
        model.input.redshifts.size() > 1 ? fmt::format(" at z = {}", model.input.redshifts[c]) : "";
    const std::string name = counts ? "mean count of a voxel" : "mean of the field";
    Channel channel{{name + redshift, range.mean_low, range.mean_high, counts}, {}};
    for (std::size_t bin = 0; bin < model.range->k.size(); ++bin) {
      channel.power.push_back(
          {fmt::format("P(k = {:.3g}/({})){}", model.range->k[bin], name_of(voxel.unit), redshift),
           range.power_low[bin], range.power_high[bin], true});
    }
    channels_.push_back(std::move(channel));
  }
}

template <class Voxel>
void Familiarity::add_voxels(std::span<const Voxel> sample) {
  if (channels_.empty()) return;
  const std::size_t voxels = sample.size() / channels_.size();
  const bool as_trained = voxels == voxels_;
  if (std::is_floating_point_v<Voxel> && !as_trained) return;
  std::vector<dataset::SummaryStatistics> statistics(channels_.size());
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    const auto channel = sample.subspan(c * voxels, voxels);
    if (as_trained)
      statistics[c] = summary_->of(channel, c);
    else
      statistics[c].mean = std::accumulate(channel.begin(), channel.end(), 0.0) / static_cast<double>(voxels);
  }
  add(statistics);
}

void Familiarity::add(std::span<const dataset::SummaryStatistics> channels) {
  if (channels_.empty()) return;
  const std::size_t universe = universes_.size();
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    channels_[c].mean.add(channels[c].mean, universe);
    bool strange = false;
    for (std::size_t bin = 0; bin < channels[c].power.size(); ++bin)
      strange = channels_[c].power[bin].add(channels[c].power[bin], universe) || strange;
    if (!strange) continue;
    ++channels_[c].strange_power;
    channels_[c].strange_universes.insert(universe);
  }
}

template void Familiarity::add_voxels(std::span<const std::uint16_t>);
template void Familiarity::add_voxels(std::span<const float>);

std::string Familiarity::sentence(const Figure& figure, int strange,
                                  const std::set<std::size_t>& universes) const {
  std::vector<std::string> names;
  for (const std::size_t universe : universes) {
    if (universe > 0) names.push_back(universes_[universe - 1]);
  }
  const std::string of_which =
      names.empty() ? "" : fmt::format(" of {} universes ({})", names.size(), core::some_of(names));
  const std::string where =
      strange > 0 ? fmt::format("in {} of {} samples{}: as far off as {:.4g}", strange, figure.samples,
                                of_which, figure.value)
                  : fmt::format("on average of {} samples: {:.4g}", figure.samples, figure.average());
  return fmt::format(
      "The {} is unlike the training data {}, and {:.4g} to {:.4g} in training; the prediction may "
      "mean nothing.",
      figure.name, where, figure.low, figure.high);
}

std::vector<std::string> Familiarity::warnings() const {
  if (channels_.empty()) {
    return {
        "The model does not record the range of its training data, being of an earlier version or for too "
        "small a sample: whether the input is like them was not checked."};
  }
  std::vector<std::string> sentences;
  const auto on_average_of = [](const Figure& figure) { return figure.average_oddity(); };
  for (const Channel& channel : channels_) {
    if (channel.mean.strange > 0 || channel.mean.average_oddity() > 1)
      sentences.push_back(sentence(channel.mean, channel.mean.strange, channel.mean.strange_universes));
    const Figure& strangest = *std::ranges::max_element(channel.power, {}, &Figure::furthest);
    const Figure& on_average = *std::ranges::max_element(channel.power, {}, on_average_of);
    if (channel.strange_power > 0) {
      sentences.push_back(sentence(strangest, channel.strange_power, channel.strange_universes));
    } else if (on_average.average_oddity() > 1) {
      sentences.push_back(sentence(on_average, 0, {}));
    }
  }
  return sentences;
}

std::vector<std::string> predictions_outside(const core::ParameterSpace& trained,
                                             const std::vector<std::vector<double>>& predictions,
                                             const std::vector<std::string>& names) {
  std::vector<std::string> sentences;
  for (std::size_t p = 0; p < trained.size(); ++p) {
    const double low = trained.low[p], high = trained.high[p], margin = kShareOutside * (high - low);
    const auto beyond = [&](const std::vector<double>& row) { return std::max(low - row[p], row[p] - high); };
    std::size_t outside = 0;
    std::vector<std::string> named;
    for (std::size_t i = 0; i < predictions.size(); ++i) {
      if (!(beyond(predictions[i]) > margin)) continue;
      ++outside;
      if (!names.empty()) named.push_back(names[i]);
    }
    if (static_cast<double>(outside) <= kRareUniverses * static_cast<double>(predictions.size())) continue;
    sentences.push_back(fmt::format(
        "{} is predicted outside of {:.4g} to {:.4g}, its range in training, for {} of {} universes{}: as far "
        "off as {:.4g}; their voxels are unlike the training data or the network is poor, and the predictions may mean "
        "nothing.",
        trained.names[p], low, high, outside, predictions.size(),
        named.empty() ? "" : fmt::format(" ({})", core::some_of(named)),
        (*std::ranges::max_element(predictions, {}, beyond))[p]));
  }
  return sentences;
}

namespace {

template <class Voxel>
void add_samples(Familiarity& familiarity, dataset::SplitReader& split, std::size_t number) {
  std::vector<Voxel> voxels(split.spec().input.voxels());
  for (std::size_t i = 0; i < number; ++i) {
    split.read(static_cast<std::uint32_t>(i * split.size() / number), voxels);
    familiarity.add(std::span<const Voxel>(voxels));
  }
}

}  // namespace

std::vector<std::string> truths_outside(const core::ParameterSpace& trained,
                                        const dataset::SplitReader& split) {
  std::vector<std::string> sentences;
  for (std::size_t p = 0; p < trained.size(); ++p) {
    const double margin = 1e-9 * (trained.high[p] - trained.low[p]);
    std::set<std::uint32_t> all, outside;
    for (std::uint32_t i = 0; i < split.size(); ++i) {
      const dataset::Sample& sample = split.sample(i);
      const double truth = sample.parameters[p];
      all.insert(sample.simulation);
      if (truth < trained.low[p] - margin || truth > trained.high[p] + margin)
        outside.insert(sample.simulation);
    }
    if (outside.empty()) continue;
    sentences.push_back(fmt::format(
        "{} of {} universes have {} outside {:g} to {:g}, beyond which the model predicts nothing.",
        outside.size(), all.size(), trained.names[p], trained.low[p], trained.high[p]));
  }
  return sentences;
}

std::vector<std::string> compare_with_training(const nn::ModelManifest& model, dataset::SplitReader& split) {
  Familiarity familiarity(model);
  if (!model.range) return familiarity.warnings();
  const std::size_t most = std::clamp(kMostVoxels / split.spec().input.voxels(), kFewSamples, kMostSamples);
  const std::size_t number = std::min<std::size_t>(most, split.size());
  split.spec().input.kind == dataset::VoxelKind::counts
      ? add_samples<std::uint16_t>(familiarity, split, number)
      : add_samples<float>(familiarity, split, number);
  return familiarity.warnings();
}

}  // namespace cosmo::infer
