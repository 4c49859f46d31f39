#include "train/posterior/fit_field_posterior.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/finite.hpp"
#include "core/fourier/field_spectra.hpp"
#include "core/parallel/gather_values.hpp"
#include "core/timer.hpp"
#include "dataset/load/data_loader.hpp"
#include "nn/model/inference.hpp"
#include "nn/model/model_file.hpp"
#include "train/posterior/universe_predictions.hpp"

namespace cosmo::train {

namespace {

/// The sums of a bin, with the mean wavenumber of its modes.
struct BinSums {
  fourier::SpectrumSums sums;
  double k = 0;  ///< Σ|k|

  void add(const BinSums& more) {
    sums.add(more.sums);
    k += more.k;
  }
};

/// Those of one universe.
struct UniverseBin {
  std::uint32_t sample, bin;
  BinSums sums;
};

/// A bin of all universes.
struct LeftBin {
  double modes;                               ///< those of one universe, k and -k counted once
  double gain = 0, gain_slope = 0;            ///< those of the posterior
  double share = 1;                           ///< its power_left
  std::vector<double> left = {}, truth = {};  ///< Σ|t − gain p|² and Σ|t|² of each universe
};

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// A share of power if its odds against the rest are `factor` times as large; 0 and 1 stay.
double with_odds(double share, double factor) { return share * factor / (1 - share + share * factor); }

/// Measures what the gain leaves of each universe. `logarithms`: of the universes' variances.
void measure_left(LeftBin& bin, const std::vector<BinSums>& universes,
                  const std::vector<double>& logarithms) {
  bin.left.clear();
  for (std::size_t u = 0; u < universes.size(); ++u) {
    const auto& [p, t, cross, modes] = universes[u].sums;
    const double gain = bin.gain * std::exp(bin.gain_slope * logarithms[u]);
    bin.left.push_back(t - 2 * gain * cross + gain * gain * p);
  }
}

/// The gain with the least left, for the bin's slope.
double best_gain(const LeftBin& bin, const std::vector<BinSums>& universes,
                 const std::vector<double>& logarithms) {
  double cross = 0, power = 0;
  for (std::size_t u = 0; u < universes.size(); ++u) {
    const double factor = std::exp(bin.gain_slope * logarithms[u]);
    cross += factor * universes[u].sums.cross;
    power += factor * factor * universes[u].sums.prediction;
  }
  return power > 0 ? cross / power : 0;
}

/// The mean square of what is left in a mode; where gains of whole universes scatter by more than that explains, as much as does.
double noise_of(const LeftBin& bin, const std::vector<BinSums>& universes,
                const std::vector<double>& logarithms) {
  double scatter = 0;
  for (std::size_t u = 0; u < universes.size(); ++u) {
    const fourier::SpectrumSums& sums = universes[u].sums;
    const double gain = bin.gain * std::exp(bin.gain_slope * logarithms[u]);
    if (sums.prediction > 0) scatter += std::pow(sums.cross - gain * sums.prediction, 2) / sums.prediction;
  }
  const auto number = static_cast<double>(universes.size());
  return std::max(sum_of(bin.left) / (2 * bin.modes * number), scatter / number);
}

/// Fits gain and slope by least squares, with a Gaussian of mean 0 and deviation 1/2 for the slope, for few
/// universes, or equal ones.
LeftBin fit_gain(const std::vector<BinSums>& universes, const std::vector<double>& logarithms) {
  constexpr int kSteps = 10;
  constexpr double kSlopes = 0.5;
  LeftBin bin{static_cast<double>(universes.front().sums.modes) / 2};
  for (const BinSums& one : universes) bin.truth.push_back(one.sums.truth);
  for (int step = 0; step <= kSteps; ++step) {
    bin.gain = best_gain(bin, universes, logarithms);
    measure_left(bin, universes, logarithms);
    const double noise = noise_of(bin, universes, logarithms);
    if (step == kSteps || noise <= 0) break;
    double score = -bin.gain_slope / (kSlopes * kSlopes), information = 1 / (kSlopes * kSlopes);
    for (std::size_t u = 0; u < universes.size(); ++u) {
      const fourier::SpectrumSums& sums = universes[u].sums;
      const double gain = bin.gain * std::exp(bin.gain_slope * logarithms[u]);
      score += gain * logarithms[u] * (sums.cross - gain * sums.prediction) / noise;
      information += std::pow(gain * logarithms[u], 2) * sums.prediction / noise;
    }
    bin.gain_slope += score / information;
  }
  const double truth = sum_of(bin.truth);
  bin.share = truth > 0 ? std::clamp(sum_of(bin.left) / truth, 0.0, 1.0) : 1;
  return bin;
}

/// Fits the slope, and each bin's share for it, by Newton's steps on the likelihood of Gaussian modes, with a Gaussian of mean 0 and
/// deviation 1 for the slope, for few universes, or equal ones. `logarithms`: of the universes' variances.
double fit_slope(std::vector<LeftBin>& bins, const std::vector<double>& logarithms) {
  constexpr int kSteps = 20;
  double slope = 0;
  for (int step = 0; step < kSteps; ++step) {
    double score = -slope, information = 1;
    for (LeftBin& bin : bins) {
      double expected = 0;
      const double truth = sum_of(bin.truth), mean = truth / static_cast<double>(bin.truth.size());
      for (std::size_t u = 0; u < logarithms.size(); ++u) {
        const double share = with_odds(bin.share, std::exp(slope * logarithms[u]));
        expected += share * bin.truth[u];
        if (share <= 0 || mean <= 0) continue;
        const double derivative = (1 - share) * logarithms[u];
        score += bin.modes * derivative * (bin.left[u] - share * bin.truth[u]) / (share * mean);
        information += bin.modes * derivative * derivative;
      }
      if (expected > 0) bin.share = std::clamp(bin.share * sum_of(bin.left) / expected, 0.0, 1.0);
    }
    slope += score / information;
  }
  return slope;
}

double variance_of(const std::vector<BinSums>& universe) {
  double variance = 0;
  for (const BinSums& bin : universe) variance += bin.sums.truth;
  return variance;
}

/// From the bins of each universe.
nn::FieldPosterior posterior_of(const std::vector<std::vector<BinSums>>& universes) {
  nn::FieldPosterior posterior;
  posterior.universes = static_cast<int>(universes.size());
  std::vector<double> logarithms;
  for (const std::vector<BinSums>& universe : universes)
    logarithms.push_back(std::log(variance_of(universe)));
  const double mean = sum_of(logarithms) / static_cast<double>(logarithms.size());
  for (double& logarithm : logarithms) logarithm -= mean;
  posterior.variance = std::exp(mean);
  std::vector<LeftBin> bins;
  for (std::size_t b = 0; b < universes.front().size(); ++b) {
    std::vector<BinSums> own;
    for (const std::vector<BinSums>& universe : universes) own.push_back(universe[b]);
    const auto& [sums, k] = own.front();
    if (sums.modes == 0) continue;
    posterior.k.push_back(k / static_cast<double>(sums.modes));
    bins.push_back(fit_gain(own, logarithms));
  }
  posterior.slope = fit_slope(bins, logarithms);
  for (const LeftBin& bin : bins) {
    posterior.gain.push_back(bin.gain);
    posterior.gain_slope.push_back(bin.gain_slope);
    posterior.power_left.push_back(bin.share);
  }
  return posterior;
}

/// Adds the bins of a universe whose field the network predicts as `prediction`, in units of the training.
void measure(fourier::FieldSpectra& spectra, std::uint32_t sample, std::span<const float> prediction,
             std::span<const float> truth, std::vector<UniverseBin>& found) {
  spectra.set_truth(truth);
  const fourier::Spectra sums = spectra.of(prediction);
  std::vector<double> k(sums.size());
  spectra.for_each_mode([&](std::size_t bin, int kx, int ky, int kz, std::uint64_t modes, const auto&,
                            const auto&) {
    k[bin] +=
        static_cast<double>(modes) * spectra.truth().fundamental() * std::sqrt(kx * kx + ky * ky + kz * kz);
  });
  for (std::uint32_t bin = 0; bin < sums.size(); ++bin) found.push_back({sample, bin, {sums[bin], k[bin]}});
}

}  // namespace

std::optional<nn::FieldPosterior> fit_field_posterior(const core::Communicator& comm, const core::Log& log,
                                                      const ModelToFit& of, const FieldPosteriorData& data) {
  const core::Timer timer;
  const auto& [directory, model] = of;
  const std::vector<std::uint32_t> samples = unrolled_samples(data.validation, data.validation.size());
  std::optional<nn::Network> network;
  std::optional<dataset::DataLoader> loader;
  std::optional<fourier::FieldSpectra> spectra;
  comm.agree([&] {
    network.emplace(model.network, model.network_input(), model.outputs(), 1, nn::Mode::inference,
                    nn::arithmetic_of(model));
    nn::read_weights(directory, model, *network);
    loader.emplace(data.validation, data.transform,
                   dataset::LoaderConfig{.rank = comm.rank(),
                                         .ranks = comm.size(),
                                         .global_batch = comm.size(),
                                         .only = samples,
                                         .releases = true,
                                         .target = data.target});
    const dataset::SampleSpec& spec = data.validation.spec();
    spectra.emplace(spec.side(), spec.box_size.value, fourier::Modes::in_cube);
  });
  std::vector<UniverseBin> found;
  loader->start_epoch(0);
  comm.agree([&] {
    while (const auto batch = loader->next()) {
      if (batch->valid == 0) continue;
      network->set_input(batch->voxels);
      const std::span<const float> prediction = network->forward();
      core::ensure(core::all_finite(prediction), core::Fault::numeric,
                   "The network's prediction of {} is not finite.",
                   data.validation.describe(batch->samples.front()));
      measure(*spectra, batch->samples.front(), prediction, batch->targets, found);
    }
  });
  found = core::gather_values(comm, found);
  std::map<std::uint32_t, std::vector<BinSums>> by_sample;  // in the order of samples, whoever predicted them
  for (const auto& [sample, bin, sums] : found) {
    std::vector<BinSums>& bins = by_sample[sample];
    bins.resize(spectra->bins().size());
    bins[bin] = sums;
  }
  std::vector<std::vector<BinSums>> universes;
  for (auto& [sample, bins] : by_sample) universes.push_back(std::move(bins));
  log.info("field posterior: fitted to {} validation universes in {}", samples.size(),
           core::format_duration(timer.seconds()));
  std::erase_if(universes, [](const auto& universe) { return variance_of(universe) <= 0; });
  if (universes.empty()) return std::nullopt;
  nn::FieldPosterior posterior = posterior_of(universes);
  posterior.variance /= data.target.scale * data.target.scale;  // in physical units
  return posterior;
}

}  // namespace cosmo::train
