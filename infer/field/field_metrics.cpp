#include "infer/field/field_metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>

#include "infer/evaluate/bootstrap.hpp"

namespace cosmo::infer {

namespace {

/// A bin's sums of the network and of a baseline, for paired errors.
struct PairSums {
  SpectrumSums one, other;

  void add(const PairSums& more) {
    one.add(more.one);
    other.add(more.other);
  }
  std::array<double, 4> figures() const {
    return {one.correlation(), one.transfer(), other.correlation(), one.correlation() - other.correlation()};
  }
};

std::vector<PairSums> pairs_of(const FieldMethod& one, const FieldMethod& other, std::size_t bin) {
  std::vector<PairSums> pairs;
  for (std::size_t u = 0; u < one.universes.size(); ++u)
    pairs.push_back({one.universes[u][bin], other.universes[u][bin]});
  return pairs;
}

std::array<double, 4> figures_of(const std::vector<PairSums>& pairs) {
  PairSums sum;
  for (const PairSums& pair : pairs) sum.add(pair);
  return sum.figures();
}

std::vector<std::size_t> bins_with_modes(const FieldMethod& method) {
  std::vector<std::size_t> bins;
  for (std::size_t bin = 0; bin < method.universes.front().size(); ++bin) {
    if (method.universes.front()[bin].modes > 0) bins.push_back(bin);
  }
  return bins;
}

FieldCurve curve_of(const FieldMethod& method, const std::vector<std::size_t>& bins) {
  FieldCurve curve;
  curve.smoothing = method.smoothing;
  for (const std::size_t bin : bins) {
    const std::vector<PairSums> pairs = pairs_of(method, method, bin);
    const auto values = figures_of(pairs), errors = bootstrap_errors(pairs);
    curve.r.push_back(values[0]);
    curve.r_se.push_back(errors[0]);
    curve.t.push_back(values[1]);
    curve.t_se.push_back(errors[1]);
  }
  return curve;
}

double mean_correlation(const FieldMethod& method, const std::vector<std::size_t>& bins) {
  double sum = 0;
  for (const std::size_t bin : bins) sum += figures_of(pairs_of(method, method, bin))[0];
  return sum / static_cast<double>(bins.size());
}

core::Json to_json(const FieldCurve& curve) {
  core::Json json = {{"r", curve.r}, {"r_se", curve.r_se}, {"t", curve.t}, {"t_se", curve.t_se}};
  if (curve.smoothing > 0) json["smoothing"] = curve.smoothing;
  return json;
}

/// The largest k up to which r is at least this; 0 if it is below from the start.
double reach_of(const FieldMetrics& metrics, const FieldCurve& curve, double least) {
  double reach = 0;
  for (std::size_t i = 0; i < curve.r.size() && curve.r[i] >= least; ++i) reach = metrics.k[i];
  return reach;
}

}  // namespace

FieldMetrics field_metrics(const std::string& quantity, const std::vector<double>& k,
                           const FieldMethod& network, const FieldMethod& counts,
                           const std::vector<FieldMethod>& reconstructions) {
  const std::vector<std::size_t> bins = bins_with_modes(network);
  const auto best = std::ranges::max_element(
      reconstructions, {}, [&](const FieldMethod& method) { return mean_correlation(method, bins); });
  FieldMetrics metrics{quantity,
                       network.universes.size(),
                       {},
                       curve_of(network, bins),
                       curve_of(counts, bins),
                       curve_of(*best, bins),
                       {},
                       {}};
  for (const std::size_t bin : bins) {
    metrics.k.push_back(k[bin]);
    const std::vector<PairSums> pairs = pairs_of(network, *best, bin);
    metrics.gain.push_back(figures_of(pairs)[3]);
    metrics.gain_se.push_back(bootstrap_errors(pairs)[3]);
  }
  return metrics;
}

core::Json to_json(const FieldMetrics& metrics) {
  core::Json field = to_json(metrics.network);
  field["k"] = metrics.k;
  field["universes"] = metrics.universes;
  field["baselines"] = {{"counts", to_json(metrics.counts)}, {"standard", to_json(metrics.standard)}};
  field["gain_over_standard"] = metrics.gain;
  field["gain_over_standard_se"] = metrics.gain_se;
  return {{metrics.quantity, field}};
}

std::string text_of(const FieldMetrics& metrics) {
  std::string text =
      fmt::format("{:>6}  {:>17}  {:>17}  {:>17}  {:>6}\n", "k", "network r", "standard r", "counts r", "T");
  const auto one = [](const FieldCurve& curve, std::size_t i) {
    return fmt::format("{:.4f} ± {:.4f}", curve.r[i], curve.r_se[i]);
  };
  for (std::size_t i = 0; i < metrics.k.size(); ++i)
    text += fmt::format("{:>6.2f}  {:>17}  {:>17}  {:>17}  {:>6.3f}\n", metrics.k[i], one(metrics.network, i),
                        one(metrics.standard, i), one(metrics.counts, i), metrics.network.t[i]);
  return text +
         fmt::format(
             "r and T of the modes of {} universes in bins of k; standard: the standard reconstruction "
             "with R = {:g}, the best of several\n",
             metrics.universes, metrics.standard.smoothing);
}

std::string outcome_of(const FieldMetrics& metrics) {
  std::size_t better = 0;
  for (std::size_t i = 0; i < metrics.gain.size(); ++i)
    better += metrics.gain[i] > 2 * metrics.gain_se[i] ? 1 : 0;
  return fmt::format(
      "The predicted field correlates with the true one by 0.9 or more up to k = {:.2f}, the standard reconstruction up to "
      "{:.2f}; it is better than that by two standard errors in {} of {} bins.",
      reach_of(metrics, metrics.network, 0.9), reach_of(metrics, metrics.standard, 0.9), better,
      metrics.gain.size());
}

}  // namespace cosmo::infer
