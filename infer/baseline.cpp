#include "infer/baseline.hpp"

namespace cosmo::infer {

dataset::PredictionTable predict_centre(dataset::PredictionTable table) {
  const core::ParameterSpace& space = table.parameters;
  for (dataset::PredictionRow& row : table.rows) {
    for (std::size_t p = 0; p < space.size(); ++p) row.prediction[p] = (space.low[p] + space.high[p]) / 2;
  }
  return table;
}

}  // namespace cosmo::infer
