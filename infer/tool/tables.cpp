#include "infer/tool/tables.hpp"

#include <algorithm>
#include <cmath>

#include "infer/evaluate/evaluation.hpp"
#include "infer/evaluate/paired.hpp"
#include "infer/predict/deviation_kind.hpp"

namespace cosmo::infer {

namespace {

constexpr int kTitleWidth = 22, kColumnWidth = 28;

/// `title` and the names of the parameters.
std::string header_text(std::string_view title, const Methods& methods) {
  std::string text = fmt::format("{:<{}}", title, kTitleWidth);
  for (const std::string& name : methods.front().universes.parameters.names)
    text += fmt::format("  {:<{}}", name, kColumnWidth);
  return text + '\n';
}

/// "(0.72)": how many times the method's error the network's is; a dash where that has no value.
std::string ratio_text(double network, double method) {
  const double ratio = network / method;
  return method > 0 && std::isfinite(ratio) ? fmt::format("({:.2f})", ratio) : "(—)";
}

/// "3.1 %" of a fraction; empty if there is none.
std::string percent_text(double fraction) {
  return std::isfinite(fraction) ? fmt::format("{:.2g} %", 100 * fraction) : "";
}

}  // namespace

std::string trimmed(const std::string& text) {
  std::string kept;
  for (const char c : text) {
    if (c == '\n') kept.erase(kept.find_last_not_of(' ') + 1);
    kept += c;
  }
  return kept;
}

int decimals_of(const core::ParameterSpace& space, std::size_t p) {
  return std::clamp(static_cast<int>(std::ceil(-std::log10((space.high[p] - space.low[p]) / 1000))), 4, 15);
}

std::string prediction_text(const dataset::PredictionTable& universes, std::size_t most) {
  const core::ParameterSpace& space = universes.parameters;
  std::string text = fmt::format("{:>10}", "universe");
  for (std::size_t p = 0; p < space.size(); ++p) {
    const int decimals = decimals_of(space, p);
    text += fmt::format("  {:>{}}  {:>{}}", space.names[p], decimals + 4, "predicted", decimals + 5);
  }
  text += '\n';
  for (std::size_t i = 0; i < std::min(most, universes.rows.size()); ++i) {
    const dataset::PredictionRow& row = universes.rows[i];
    text += fmt::format("{:>10}", row.simulation);
    for (std::size_t p = 0; p < row.truth.size(); ++p) {
      const int decimals = decimals_of(space, p);
      text += fmt::format("  {:>{}.{}f}  {:>{}.{}f}", row.truth[p], decimals + 4, decimals, row.prediction[p],
                          decimals + 5, decimals);
    }
    text += '\n';
  }
  if (most < universes.rows.size())
    text += fmt::format("{:>10}  {} more\n", "…", universes.rows.size() - most);
  return text;
}

std::string error_text(const Methods& methods, const std::optional<Forecast>& forecast,
                       std::span<const double> label_deviations) {
  std::string text = header_text("error", methods);
  const std::vector<ParameterMetrics> network = evaluate(methods.front().universes, label_deviations);
  bool fractions = false;
  for (const Method& method : methods) {
    const bool first = &method == &methods.front();
    const std::vector<ParameterMetrics> metrics =
        first ? network : evaluate(method.universes, label_deviations);
    text += fmt::format("{:<{}}", method.title, kTitleWidth);
    for (std::size_t p = 0; p < metrics.size(); ++p) {
      const Estimate& error = metrics[p].scaled_error;
      const std::string fraction = percent_text(metrics[p].fractional_error.value);
      fractions |= !fraction.empty();
      text += fmt::format("  {:<13} {:<6} {:<7}", text_of(error, 3),
                          first ? "" : ratio_text(network[p].scaled_error.value, error.value), fraction);
    }
    text += '\n';
  }
  if (forecast) {
    text += fmt::format("{:<{}}", "forecast of P(k)", kTitleWidth);
    for (std::size_t p = 0; p < network.size(); ++p) {
      const double error = forecast->parameters[p].sigma / label_deviations[p];
      text += fmt::format("  {:<13.3f} {:<14}", error, ratio_text(network[p].scaled_error.value, error));
    }
    text += '\n';
  }
  text += fmt::format(
      "rms error of universes / standard deviation of the training labels: predicting their mean gives 1; in "
      "brackets the network's divided by the method's{}\n",
      fractions ? "; beside it mean |x - p| / |x| of truths x" : "");
  if (std::ranges::any_of(methods, &Method::of_whole_universes))
    text += "* from the mean of a universe's statistics; else the mean over its sub-volumes' predictions\n";
  return trimmed(text);
}

std::string paired_text(const Methods& methods) {
  std::string text = header_text("network less", methods);
  for (std::size_t m = 1; m < methods.size(); ++m) {
    text += fmt::format("{:<{}}", methods[m].title, kTitleWidth);
    for (const PairedDifference& difference : compare(methods.front().universes, methods[m].universes)) {
      text += fmt::format("  {:<17} {:>3.0f} %     ", text_of(difference.mae, 4),
                          100 * difference.fraction_better);
    }
    text += '\n';
  }
  return trimmed(text) +
         "mean |x - p| of the network less the method's, where the range is [-1, 1], and the share of "
         "universes where the network is closer\n";
}

std::string fiducial_text(const core::ParameterSpace& space, const Fiducial& fiducial,
                          std::size_t universes) {
  if (!is_fiducial(fiducial)) return "";
  std::string text = fmt::format("{:<12}  {:<9}  {:<20}  {:<18}  {}\n", "at a point", "truth", "bias",
                                 "scatter", "mean predicted deviation");
  for (std::size_t p = 0; p < space.size(); ++p) {
    if (!fiducial[p]) continue;
    const FiducialFigures& figures = *fiducial[p];
    const int decimals = decimals_of(space, p);
    text += fmt::format("{:<12}  {:<9.6g}  {:<20}  {:<18}  {:.{}f}\n", space.names[p], figures.truth,
                        fmt::format("{:+.{}f} ± {:.{}f}", figures.bias, decimals, figures.bias_se, decimals),
                        text_of({figures.scatter, figures.scatter_se}, decimals), figures.mean_deviation,
                        decimals);
  }
  return text +
         fmt::format(
             "bias: mean of p - x over {} universes of the same x; scatter: standard deviation of p, to be compared with "
             "the predicted deviation\n",
             universes);
}

}  // namespace cosmo::infer
