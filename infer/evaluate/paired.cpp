#include "infer/evaluate/paired.hpp"

#include <cmath>
#include <map>

#include "infer/evaluate/bootstrap.hpp"

namespace cosmo::infer {

namespace {

struct DifferenceSums {
  double rows = 0, difference = 0;

  void add(const DifferenceSums& other) {
    rows += other.rows;
    difference += other.difference;
  }
  std::array<double, 1> figures() const { return {difference / rows}; }
};

}  // namespace

std::vector<PairedDifference> compare(const dataset::PredictionTable& network,
                                      const dataset::PredictionTable& method) {
  const core::ParameterSpace& space = network.parameters;
  const std::vector<std::uint32_t> phases = dataset::phases_of(network);
  std::vector<PairedDifference> result;
  for (std::size_t p = 0; p < space.size(); ++p) {
    std::map<std::uint32_t, DifferenceSums> by_universe;
    DifferenceSums all;
    double better = 0;
    for (std::size_t r = 0; r < network.rows.size(); ++r) {
      const dataset::PredictionRow& row = network.rows[r];
      const auto error = [&](double prediction) { return std::abs(row.truth[p] - prediction); };
      const double difference = error(row.prediction[p]) - error(method.rows[r].prediction[p]);
      const DifferenceSums sums{1, difference * 2 / (space.high[p] - space.low[p])};
      by_universe[phases[r]].add(sums);
      all.add(sums);
      better += difference < 0 ? 1 : 0;
    }
    std::vector<DifferenceSums> universes;
    for (const auto& [phase, sums] : by_universe) universes.push_back(sums);
    result.push_back({{all.figures()[0], bootstrap_errors(universes)[0]}, better / all.rows});
  }
  return result;
}

core::Json to_json(const core::ParameterSpace& parameters, const std::vector<PairedDifference>& differences) {
  core::Json json = core::Json::object();
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    json[parameters.names[p]] = {{"mae_difference", differences[p].mae.value},
                                 {"mae_difference_se", differences[p].mae.standard_error},
                                 {"fraction_better", differences[p].fraction_better}};
  }
  return json;
}

}  // namespace cosmo::infer
