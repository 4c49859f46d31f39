#include "infer/tables.hpp"

#include <algorithm>
#include <cmath>

#include "infer/evaluation.hpp"
#include "train/nn/loss.hpp"

namespace cosmo::infer {

namespace {

/// "0.0123 ± 0.0004"
std::string text_of(const Estimate& estimate) {
  if (std::isnan(estimate.standard_error)) return fmt::format("{:.4f} ± ?     ", estimate.value);
  return fmt::format("{:.4f} ± {:.4f}", estimate.value, estimate.standard_error);
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

std::string error_text(const Methods& methods) {
  const core::ParameterSpace& parameters = methods.front().universes.parameters;
  std::string text = fmt::format("{:<20}", "error");
  for (const std::string& name : parameters.names) text += fmt::format("  {:<24}", name);
  text += '\n';
  std::vector<ParameterMetrics> network;
  for (const Method& method : methods) {
    const std::vector<ParameterMetrics> metrics = evaluate(method.universes);
    if (network.empty()) network = metrics;
    text += fmt::format("{:<20}", method.title);
    for (std::size_t p = 0; p < metrics.size(); ++p) {
      const Estimate& error = metrics[p].relative_error;
      const double ratio = network[p].relative_error.value / error.value;
      text += fmt::format("  {} {:<6}", text_of(error),
                          &method == &methods.front() ? "" : fmt::format("({:.2f})", ratio));
    }
    text += '\n';
  }
  return text + "mean |x - p| / p of universes; in brackets the network's as a part of the method's\n";
}

std::string universe_text(const nn::ModelManifest& model, const UniversePrediction& prediction) {
  std::string text;
  for (std::size_t p = 0; p < model.parameters.size(); ++p) {
    text += fmt::format("{:>10}  {:.4f} ± {:.4f}\n", model.parameters.names[p], prediction.value[p],
                        prediction.error[p]);
  }
  const bool gaussian = nn::find_loss(model.loss).gaussian;
  const char* cut_otherwise =
      prediction.of_universes ? "" : " of single sub-volumes (cut otherwise than here)";
  return text + fmt::format("from {} sub-volumes; ± is the {}{} on {} validation universes of the model\n",
                            prediction.subvolumes.rows.size(),
                            gaussian ? "predicted deviation, calibrated" : "rms error", cut_otherwise,
                            model.validation.universes);
}

}  // namespace cosmo::infer
