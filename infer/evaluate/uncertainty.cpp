#include "infer/evaluate/uncertainty.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "dataset/shard/target_scaler.hpp"
#include "infer/evaluate/bootstrap.hpp"
#include "infer/evaluate/calibration_check.hpp"
#include "infer/evaluate/fiducial.hpp"
#include "infer/predict/deviation_kind.hpp"
#include "infer/predict/ensemble.hpp"
#include "nn/posterior/small_matrix.hpp"

namespace cosmo::infer {

namespace {

constexpr double kEdge = 1 + 1e-9;  ///< end of the ranges of labels, with room for rounding

/// What is summed over rows: first the negative log likelihood, then for each parameter whether the truth
/// lies within 1 and within 2 sigma.
constexpr std::size_t kScores = 1 + 2 * nn::kMostParameters;
using Scores = std::array<double, kScores>;

struct ScoreSums {
  double rows = 0;
  Scores sums{};

  void add(const ScoreSums& other) {
    rows += other.rows;
    for (std::size_t f = 0; f < kScores; ++f) sums[f] += other.sums[f];
  }
  Scores figures() const {
    Scores means = sums;
    for (double& mean : means) mean /= rows;
    return means;
  }
};

/// The figures of a row; `below` becomes the probabilities that the parameters are below their truths.
Scores figures_of(const Distribution& distribution, const nn::Vector& truth, nn::Vector& below) {
  const std::size_t parameters = distribution.prediction.size();
  Scores figures{};
  std::vector<double> labels(truth.begin(), truth.begin() + static_cast<std::ptrdiff_t>(parameters));
  const bool possible = std::ranges::all_of(labels, [](double x) { return std::abs(x) <= kEdge; });
  const bool posterior = !distribution.network.empty();
  if (possible && posterior)  // whose density ends there; rounding may lead beyond it
    for (double& label : labels) label = std::clamp(label, -1.0, 1.0);
  figures[0] =
      possible ? -log_density(distribution.density, labels) : std::numeric_limits<double>::infinity();
  std::ranges::copy(cumulative(distribution.density, labels), below.begin());
  for (std::size_t p = 0; p < parameters; ++p) {
    for (std::size_t i = 0; i < kIntervals.size(); ++i)
      figures[1 + 2 * p + i] = is_within(below[p], kIntervals[i]) ? 1 : 0;
  }
  return figures;
}

/// `calibration_of` returns a model's calibration, which may be empty.
template <class Calibration>
core::Json to_json(const NetworkPrediction& network, const Uncertainty& uncertainty,
                   const Calibration& calibration_of) {
  const core::ParameterSpace& parameters = network.method.universes.parameters;
  core::Json json = {{"kind", deviation_kind(network.models).key}, {"models", network.models.size()}};
  put(json, "negative_log_likelihood", uncertainty.negative_log_likelihood);
  json["calibration"] = {{"universes", network.models.front().validation.universes}};
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    core::Json& entry = json["coverage"][parameters.names[p]];
    put(entry, "within_1_sigma", uncertainty.coverage[p].within_1_sigma);
    put(entry, "within_2_sigma", uncertainty.coverage[p].within_2_sigma);
    double logarithm = 0;  // mean over the models; 0 for those without
    if (const auto& joint = network.models.front().joint)
      logarithm = std::log(joint->of_universes.widening()[p]);
    for (const Model& model : network.models) {
      if (!network.models.front().joint && model.posterior)
        logarithm += std::log(model.posterior->of_universes.widening()[p]) /
                     static_cast<double>(network.models.size());
      const std::vector<double>& calibration = calibration_of(model);
      if (calibration.empty()) continue;
      const nn::Matrix map = nn::triangle_of(calibration, parameters.size());
      logarithm += std::log(map[p][p]) / static_cast<double>(network.models.size());
    }
    json["calibration"]["scale"][parameters.names[p]] = std::exp(logarithm);
  }
  return json;
}

/// "68 ± 4 %"
std::string percent(const Estimate& share) {
  return infer::text_of(Estimate{100 * share.value, 100 * share.standard_error}, 0) + " %";
}

std::string text_of(const core::ParameterSpace& parameters, const Uncertainty& uncertainty) {
  std::string text = fmt::format("{:<20}", "truths within");
  for (const std::string& name : parameters.names) text += fmt::format("  {:<12}", name);
  const auto line = [&](const char* name, Estimate Coverage::*share) {
    text += fmt::format("\n{:<20}", name);
    for (const Coverage& coverage : uncertainty.coverage)
      text += fmt::format("  {:<12}", percent(coverage.*share));
  };
  line("1 sigma (68 %)", &Coverage::within_1_sigma);
  line("2 sigma (95 %)", &Coverage::within_2_sigma);
  const Estimate& likelihood = uncertainty.negative_log_likelihood;
  return text + fmt::format("\n-log likelihood of universes {}; the flat prior has {:.3f}\n",
                            std::isinf(likelihood.value) ? "infinite (truths outside of the model's ranges)"
                                                         : infer::text_of(likelihood, 3),
                            static_cast<double>(parameters.size()) * std::log(2.0));
}

void fill(dataset::PredictionTable& table, const std::vector<Distribution>& distributions) {
  for (std::size_t row = 0; row < distributions.size(); ++row) {
    table.rows[row].prediction = distributions[row].prediction;
    table.rows[row].deviation = distributions[row].deviation;
    table.rows[row].network = distributions[row].network;
    table.rows[row].covariance = distributions[row].covariance;
    if (distributions[row].farness) table.rows[row].distance_rank = distributions[row].farness->rank;
  }
}

}  // namespace

Uncertainty evaluate_uncertainty(const dataset::PredictionTable& table,
                                 const std::vector<Distribution>& distributions) {
  const dataset::TargetScaler scaler(table.parameters);
  std::vector<Scores> rows(table.rows.size());
  std::vector<nn::Vector> below(table.rows.size());
#pragma omp parallel for schedule(static)
  for (std::size_t row = 0; row < rows.size(); ++row) {
    nn::Vector truth{};
    scaler.to_unit(table.rows[row].truth, std::span<double>(truth).first(scaler.size()));
    rows[row] = figures_of(distributions[row], truth, below[row]);
  }
  const std::vector<std::uint32_t> phases = dataset::phases_of(table);
  std::map<std::uint32_t, ScoreSums> by_universe;
  ScoreSums all;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    by_universe[phases[row]].add({1, rows[row]});
    all.add({1, rows[row]});
  }
  std::vector<ScoreSums> universes;
  for (const auto& [phase, sums] : by_universe) universes.push_back(sums);
  const Scores value = all.figures();
  Scores error = bootstrap_errors(universes);
  if (!std::isfinite(value[0])) error[0] = std::numeric_limits<double>::quiet_NaN();
  Uncertainty uncertainty{{value[0], error[0]}, {}, std::move(below)};
  const auto share = [&](std::size_t figure) -> Estimate {
    const bool all_alike = value[figure] == 0 || value[figure] == 1;
    return {value[figure], all_alike ? std::numeric_limits<double>::quiet_NaN() : error[figure]};
  };
  for (std::size_t p = 0; p < scaler.size(); ++p)
    uncertainty.coverage.push_back({share(1 + 2 * p), share(2 + 2 * p)});
  return uncertainty;
}

Method alone_prediction(Models models, dataset::PredictionTable samples, std::span<const float> outputs) {
  const std::size_t width = width_of(models), count = models.front().parameters.size();
  for (std::size_t row = 0; row < samples.rows.size(); ++row) {
    std::vector<double>& prediction = samples.rows[row].prediction;
    prediction.assign(count, 0.0);
    std::span<const float> rest = outputs.subspan(row * width, width);
    for (const Model& model : models) {
      std::vector<double> one(count);
      dataset::TargetScaler(model.parameters).to_physical(rest.first(count), one);
      for (std::size_t p = 0; p < count; ++p) prediction[p] += one[p] / static_cast<double>(models.size());
      rest = rest.subspan(width_of(Models(&model, 1)));
    }
  }
  return method_of("network_alone", "network alone", std::move(samples));
}

NetworkPrediction network_prediction(std::vector<Model> models, dataset::PredictionTable samples,
                                     std::span<const float> outputs) {
  const std::size_t width = width_of(models);
  const char* title = need_statistics(models) ? "network and statistics" : "network";
  NetworkPrediction network{std::move(models), {"network", title, std::move(samples), {}}, {}, {}};
  Method& method = network.method;
  network.subvolumes.resize(method.subvolumes.rows.size());
#pragma omp parallel for schedule(dynamic)
  for (std::size_t row = 0; row < network.subvolumes.size(); ++row) {
    network.subvolumes[row] = subvolume_distribution(network.models, outputs.subspan(row * width, width));
  }
  fill(method.subvolumes, network.subvolumes);
  method.universes = dataset::per_universe(method.subvolumes);
  const std::vector<std::vector<std::size_t>> universes = dataset::rows_by_universe(method.subvolumes);
  network.universes.resize(universes.size());
#pragma omp parallel for schedule(dynamic)
  for (std::size_t universe = 0; universe < universes.size(); ++universe) {
    std::vector<float> universe_outputs;
    for (const std::size_t row : universes[universe]) {
      const std::span<const float> row_outputs = outputs.subspan(row * width, width);
      universe_outputs.insert(universe_outputs.end(), row_outputs.begin(), row_outputs.end());
    }
    network.universes[universe] = universe_distribution(network.models, universe_outputs);
  }
  fill(method.universes, network.universes);
  return network;
}

std::string add_uncertainty(core::Json& metrics, const NetworkPrediction& network) {
  if (network.method.universes.parameters.size() > nn::kMostParameters) return "";
  const Method& method = network.method;
  const Uncertainty universes = evaluate_uncertainty(method.universes, network.universes);
  const std::size_t cut = dataset::rows_by_universe(method.subvolumes).front().size();
  metrics["uncertainty"] =
      to_json(network, universes, [&](const auto& model) { return universe_calibration(model, cut); });
  metrics["per_subvolume"]["uncertainty"] =
      to_json(network, evaluate_uncertainty(method.subvolumes, network.subvolumes),
              [](const auto& model) { return model.validation.calibration_per_subvolume; });
  const core::ParameterSpace& parameters = method.universes.parameters;
  // Ranks are uniform, and intervals hold their share, for truths that are drawn from the ranges, not for one that is always
  // the same.
  if (is_fiducial(fiducial_of(method.universes))) return "";
  const CalibrationCheck check = check_calibration(method.universes, network.universes, universes.below);
  add_check(metrics["uncertainty"], parameters, check);
  return text_of(parameters, universes) + text_of(parameters, check);
}

}  // namespace cosmo::infer
