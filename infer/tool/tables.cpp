#include "infer/tool/tables.hpp"

#include <algorithm>

#include "infer/evaluate/evaluation.hpp"
#include "infer/evaluate/paired.hpp"
#include "infer/predict/deviation_kind.hpp"

namespace cosmo::infer {

namespace {

/// `title` and the names of the parameters.
std::string header_text(std::string_view title, const Methods& methods) {
  std::string text = fmt::format("{:<22}", title);
  for (const std::string& name : methods.front().universes.parameters.names)
    text += fmt::format("  {:<24}", name);
  return text + '\n';
}

}  // namespace

std::string prediction_text(const dataset::PredictionTable& universes, std::size_t most) {
  std::string text = fmt::format("{:>10}", "universe");
  for (const std::string& name : universes.parameters.names) text += fmt::format("  {:>8}  predicted", name);
  text += '\n';
  for (std::size_t i = 0; i < std::min(most, universes.rows.size()); ++i) {
    const dataset::PredictionRow& row = universes.rows[i];
    text += fmt::format("{:>10}", row.simulation);
    for (std::size_t p = 0; p < row.truth.size(); ++p) {
      text += fmt::format("  {:>8.4f}  {:>9.4f}", row.truth[p], row.prediction[p]);
    }
    text += '\n';
  }
  if (most < universes.rows.size())
    text += fmt::format("{:>10}  {} more\n", "…", universes.rows.size() - most);
  return text;
}

std::string error_text(const Methods& methods, const std::optional<Forecast>& forecast) {
  std::string text = header_text("error", methods);
  std::vector<ParameterMetrics> network;
  for (const Method& method : methods) {
    const std::vector<ParameterMetrics> metrics = evaluate(method.universes);
    if (network.empty()) network = metrics;
    text += fmt::format("{:<22}", method.title);
    for (std::size_t p = 0; p < metrics.size(); ++p) {
      const Estimate& error = metrics[p].relative_error;
      const double ratio = network[p].relative_error.value / error.value;
      text += fmt::format("  {:<15} {:<6}", text_of(error, 4),
                          &method == &methods.front() ? ""
                          : error.value > 0           ? fmt::format("({:.2f})", ratio)
                                                      : "(—)");
    }
    text += '\n';
  }
  if (forecast) {
    text += fmt::format("{:<22}", "forecast of P(k)");
    for (std::size_t p = 0; p < network.size(); ++p) {
      const double error = forecast->parameters[p].relative_error;
      text += fmt::format("  {:.4f}           {:<6}", error,
                          fmt::format("({:.2f})", network[p].relative_error.value / error));
    }
    text += '\n';
  }
  text += "mean |x - p| / p of universes; in brackets the network's divided by the method's\n";
  if (std::ranges::any_of(methods, &Method::of_whole_universes))
    text += "* from the mean of a universe's statistics; else the mean over its sub-volumes' predictions\n";
  return text;
}

std::string paired_text(const Methods& methods) {
  std::string text = header_text("network less", methods);
  for (std::size_t m = 1; m < methods.size(); ++m) {
    text += fmt::format("{:<22}", methods[m].title);
    for (const PairedDifference& difference : compare(methods.front().universes, methods[m].universes)) {
      text +=
          fmt::format("  {:<17} {:>3.0f} % ", text_of(difference.mae, 4), 100 * difference.fraction_better);
    }
    text += '\n';
  }
  return text +
         "mean |x - p| of the network less the method's, where the range is [-1, 1], and the share of "
         "universes where the network is closer\n";
}

std::string universe_text(Models models, const UniversePrediction& prediction) {
  std::string text;
  const nn::ModelManifest& model = models.front();
  for (std::size_t p = 0; p < model.parameters.size(); ++p) {
    text += fmt::format("{:>10}  {:.4f} ± {:.4f}\n", model.parameters.names[p], prediction.value[p],
                        prediction.error[p]);
  }
  const char* cut_otherwise =
      prediction.of_universes ? "" : " of single sub-volumes (cut differently from here)";
  return text + fmt::format("from {} sub-volumes; ± is the {}{} on {} validation universes of the model{}\n",
                            prediction.subvolumes.rows.size(), deviation_kind(models).name, cut_otherwise,
                            model.validation.universes, models.size() > 1 ? "s" : "");
}

}  // namespace cosmo::infer
