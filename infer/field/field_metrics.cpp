#include "infer/field/field_metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "infer/evaluate/bootstrap.hpp"

namespace cosmo::infer {

namespace {

/// A bin's sums of the network and of a baseline, for paired errors.
struct PairSums {
  fourier::SpectrumSums one, other;

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

double mean_correlation(const FieldMethod& method, const std::vector<std::size_t>& bins) {
  double sum = 0;
  for (const std::size_t bin : bins) sum += figures_of(pairs_of(method, method, bin))[0];
  return sum / static_cast<double>(bins.size());
}

/// The best method of each name, that with the largest mean r(k), among those after the first; in the order of the names.
std::vector<const FieldMethod*> best_of_each_name(const std::vector<FieldMethod>& methods,
                                                  const std::vector<std::size_t>& bins) {
  std::vector<const FieldMethod*> best;
  for (std::size_t m = 1; m < methods.size(); ++m) {
    const auto same = std::ranges::find(best, methods[m].name, &FieldMethod::name);
    if (same == best.end())
      best.push_back(&methods[m]);
    else if (mean_correlation(**same, bins) < mean_correlation(methods[m], bins))
      *same = &methods[m];
  }
  return best;
}

double mean_of(const std::vector<double>& r) {
  return std::accumulate(r.begin(), r.end(), 0.0) / static_cast<double>(r.size());
}

}  // namespace

const FieldBaseline& FieldMetrics::best() const {
  return *std::ranges::max_element(baselines, {},
                                   [](const FieldBaseline& baseline) { return mean_of(baseline.curve.r); });
}

FieldMetrics field_metrics(const std::string& quantity, const std::vector<double>& k,
                           const std::vector<FieldMethod>& methods) {
  const FieldMethod& network = methods.front();
  const std::vector<std::size_t> bins = bins_with_modes(network);
  FieldMetrics metrics{quantity, network.universes.size(), {}, curve_of(network, bins), {}};
  for (const std::size_t bin : bins) metrics.k.push_back(k[bin]);
  for (const FieldMethod* method : best_of_each_name(methods, bins)) {
    FieldBaseline baseline{method->name, curve_of(*method, bins), {}, {}};
    for (const std::size_t bin : bins) {
      const std::vector<PairSums> pairs = pairs_of(network, *method, bin);
      baseline.gain.push_back(figures_of(pairs)[3]);
      baseline.gain_se.push_back(bootstrap_errors(pairs)[3]);
    }
    metrics.baselines.push_back(std::move(baseline));
  }
  return metrics;
}

core::Json to_json(const FieldMetrics& metrics) {
  core::Json field = to_json(metrics.network);
  field["k"] = metrics.k;
  if (metrics.coverage) field["coverage"] = to_json(*metrics.coverage);
  field["universes"] = metrics.universes;
  for (const FieldBaseline& baseline : metrics.baselines) {
    field["baselines"][baseline.name] = to_json(baseline.curve);
    field["gain_over_" + baseline.name] = baseline.gain;
    field["gain_over_" + baseline.name + "_se"] = baseline.gain_se;
  }
  return {{metrics.quantity, field}};
}

std::string title_of(const FieldBaseline& baseline) {
  return baseline.curve.smoothing > 0 ? fmt::format("{}, R = {:g}", baseline.name, baseline.curve.smoothing)
                                      : baseline.name;
}

std::string text_of(const FieldMetrics& metrics) {
  std::string text = fmt::format("{:>6}  {:>17}", "k", "network r");
  for (const FieldBaseline& baseline : metrics.baselines) text += fmt::format("  {:>17}", title_of(baseline));
  text += "  network T\n";
  const auto one = [](const FieldCurve& curve, std::size_t i) {
    return fmt::format("  {:>17}", std::isnan(curve.r_se[i])  // of a single universe
                                       ? fmt::format("{:.4f}", curve.r[i])
                                       : fmt::format("{:.4f} ± {:.4f}", curve.r[i], curve.r_se[i]));
  };
  for (std::size_t i = 0; i < metrics.k.size(); ++i) {
    text += fmt::format("{:>6.2f}", metrics.k[i]) + one(metrics.network, i);
    for (const FieldBaseline& baseline : metrics.baselines) text += one(baseline.curve, i);
    text += fmt::format("  {:>9.3f}\n", metrics.network.t[i]);
  }
  if (metrics.coverage) text += outcome_of(*metrics.coverage) + "\n";
  return text +
         fmt::format(
             "r and T of the modes of {} universes in bins of k; standard, iterative: reconstructions, each with "
             "the best of several R\n",
             metrics.universes);
}

std::string outcome_of(const FieldMetrics& metrics) {
  const FieldBaseline& best = metrics.best();
  std::size_t better = 0, worse = 0;
  for (std::size_t i = 0; i < best.gain.size(); ++i) {
    better += best.gain[i] > 2 * best.gain_se[i] ? 1 : 0;
    worse += best.gain[i] < -2 * best.gain_se[i] ? 1 : 0;
  }
  const auto reach = [&](const FieldCurve& curve) {
    const double k = reach_of(metrics, curve, 0.9);
    return k == 0 ? std::string("nowhere") : fmt::format("up to k = {:.2f}", k);
  };
  const bool errors = std::ranges::any_of(best.gain_se, [](double error) { return !std::isnan(error); });
  return fmt::format(
      "The predicted field correlates with the true one by 0.9 or more {}, the best method without a network ({}) {}; "
      "{}.",
      reach(metrics.network), title_of(best), reach(best.curve),
      errors ? fmt::format("it is better than that by two standard errors in {} of {} bins, and worse in {}",
                           better, best.gain.size(), worse)
             : "one universe gives no errors");
}

}  // namespace cosmo::infer
