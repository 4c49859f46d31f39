#include "infer/prediction_file.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cosmo::infer {

std::string predictions_csv(const dataset::PredictionTable& table) {
  const bool rolled = std::ranges::any_of(table.rows, [](const auto& row) { return row.roll > 0; });
  std::string text = rolled ? "simulation,subvolume,seed,roll" : "simulation,subvolume,seed";
  const bool deviations = !table.rows.empty() && !table.rows.front().deviation.empty();
  for (const std::string& name : table.parameters.names) {
    text += fmt::format(",true_{0},predicted_{0}", name);
    if (deviations) text += ",deviation_" + name;
  }
  text += '\n';
  for (const dataset::PredictionRow& row : table.rows) {
    text += fmt::format("{},{},{}", row.simulation, row.subvolume, row.seed);
    if (rolled) text += fmt::format(",{}", row.roll);
    for (std::size_t p = 0; p < row.truth.size(); ++p) {
      text += fmt::format(",{},{}", row.truth[p], row.prediction[p]);
      if (deviations) text += fmt::format(",{}", row.deviation[p]);
    }
    text += '\n';
  }
  return text;
}

}  // namespace cosmo::infer
