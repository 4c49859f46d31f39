#include "infer/evaluate/calibration_check.hpp"

#include <algorithm>
#include <cmath>

#include "core/random.hpp"
#include "dataset/shard/target_scaler.hpp"

namespace cosmo::infer {

namespace {

double credibility(const Distribution& distribution, const nn::Vector& truth, std::uint32_t universe) {
  const core::RandomStream places(0, core::Purpose::reference_point);
  std::vector<double> point(distribution.prediction.size());
  double square = 0;
  for (std::uint32_t p = 0; p < distribution.prediction.size(); ++p) {
    point[p] = 2 * places.uniform({universe, p, 0}) - 1;
    square += std::pow(truth[p] - point[p], 2);
  }
  return ball_probability(distribution.density, point, std::sqrt(square), universe);
}

const char* verdict(const Band& band, std::span<const int> counts) {
  return band.holds(counts) ? "inside" : "OUTSIDE";
}

/// Counts as shares of `all`.
std::vector<double> shares(std::span<const int> counts, int all) {
  std::vector<double> shares;
  for (const int count : counts) shares.push_back(static_cast<double>(count) / all);
  return shares;
}

}  // namespace

CalibrationCheck check_calibration(const dataset::PredictionTable& universes,
                                   const std::vector<Distribution>& distributions,
                                   std::span<const nn::Vector> below) {
  const dataset::TargetScaler scaler(universes.parameters);
  const std::size_t rows = universes.rows.size();
  std::vector<double> credibilities(rows);
#pragma omp parallel for schedule(dynamic)
  for (std::size_t row = 0; row < rows; ++row) {
    nn::Vector truth{};
    scaler.to_unit(universes.rows[row].truth, std::span<double>(truth).first(scaler.size()));
    credibilities[row] = credibility(distributions[row], truth, universes.rows[row].simulation);
  }
  const double each = std::pow(kHolds, 1 / (static_cast<double>(scaler.size()) + 1));
  CalibrationCheck check{{},
                         uniform_band(rows, Counted::in_bins, each),
                         count(credibilities, Counted::below_edges),
                         uniform_band(rows, Counted::below_edges, each)};
  std::vector<double> own(rows);
  for (std::size_t p = 0; p < scaler.size(); ++p) {
    for (std::size_t row = 0; row < rows; ++row) own[row] = below[row][p];
    check.ranks.push_back(count(own, Counted::in_bins));
  }
  return check;
}

bool CalibrationCheck::holds() const {
  return cover_band.holds(covered) &&
         std::ranges::all_of(ranks, [&](const auto& counts) { return rank_band.holds(counts); });
}

void add_check(core::Json& uncertainty, const core::ParameterSpace& parameters,
               const CalibrationCheck& check) {
  uncertainty["calibrated"] = check.holds();
  core::Json& sbc = uncertainty["sbc"];
  int universes = 0;
  for (const int count : check.ranks.front()) universes += count;
  sbc["band"] = {check.rank_band.low.front(), check.rank_band.high.front()};
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    sbc["counts"][parameters.names[p]] = check.ranks[p];
    sbc["inside"][parameters.names[p]] = check.rank_band.holds(check.ranks[p]);
  }
  core::Json& tarp = uncertainty["tarp"];
  for (std::size_t edge = 1; edge < kBins; ++edge)
    tarp["credibility"].push_back(static_cast<double>(edge) / kBins);
  tarp["coverage"] = shares(check.covered, universes);
  tarp["band_low"] = shares(check.cover_band.low, universes);
  tarp["band_high"] = shares(check.cover_band.high, universes);
  tarp["inside"] = check.cover_band.holds(check.covered);
}

std::string text_of(const core::ParameterSpace& parameters, const CalibrationCheck& check) {
  std::string text = "bands that hold all of these with 95 % if the posteriors are calibrated: ranks of ";
  for (std::size_t p = 0; p < parameters.size(); ++p)
    text += fmt::format("{} {}, ", parameters.names[p], verdict(check.rank_band, check.ranks[p]));
  return text + fmt::format("joint coverage (TARP) {}\n", verdict(check.cover_band, check.covered));
}

}  // namespace cosmo::infer
