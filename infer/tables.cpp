#include "infer/tables.hpp"

#include <algorithm>

namespace cosmo::infer {

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

std::string error_text(const core::ParameterSpace& parameters, const std::vector<ParameterMetrics>& network,
                       const std::vector<ParameterMetrics>& centre) {
  std::string text = fmt::format("{:>10}  {:^17}  {:^17}  {}\n", "error", "network", "predict the centre",
                                 "network / centre");
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const Estimate& ours = network[p].relative_error;
    const Estimate& theirs = centre[p].relative_error;
    text +=
        fmt::format("{:>10}  {:.4f} ± {:.4f}   {:.4f} ± {:.4f}    {:.2f}\n", parameters.names[p], ours.value,
                    ours.standard_error, theirs.value, theirs.standard_error, ours.value / theirs.value);
  }
  return text;
}

std::string universe_text(const nn::ModelManifest& model, const UniversePrediction& prediction) {
  std::string text;
  for (std::size_t p = 0; p < model.parameters.size(); ++p) {
    text += fmt::format("{:>10}  {:.4f} ± {:.4f}\n", model.parameters.names[p], prediction.value[p],
                        prediction.error[p]);
  }
  return text +
         fmt::format("mean of {} sub-volumes; ± is the rms error on the model's {} validation universes\n",
                     prediction.subvolumes, model.validation.universes);
}

}  // namespace cosmo::infer
