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

/// "ranks of a inside, b OUTSIDE", the verdict on each parameter.
std::string verdicts(std::string_view what, const core::ParameterSpace& parameters, const Band& band,
                     const std::vector<std::vector<int>>& counts) {
  std::string text = fmt::format("{} of ", what);
  for (std::size_t p = 0; p < parameters.size(); ++p)
    text += fmt::format("{}{} {}", p == 0 ? "" : ", ", parameters.names[p], verdict(band, counts[p]));
  return text;
}

/// Puts the counts of each parameter and the verdicts on them into a part of "uncertainty".
void add_counts(core::Json& part, const core::ParameterSpace& parameters, const Band& band,
                const std::vector<std::vector<int>>& counts) {
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    part["counts"][parameters.names[p]] = counts[p];
    part["inside"][parameters.names[p]] = band.holds(counts[p]);
  }
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
  const double each = std::pow(kHolds, 1 / (2 * static_cast<double>(scaler.size()) + 1));
  CalibrationCheck check{{},
                         uniform_band(rows, Counted::in_bins, each),
                         {},
                         uniform_band(rows, Counted::in_intervals, each),
                         count(credibilities, Counted::below_edges),
                         uniform_band(rows, Counted::below_edges, each)};
  std::vector<double> own(rows);
  for (std::size_t p = 0; p < scaler.size(); ++p) {
    for (std::size_t row = 0; row < rows; ++row) own[row] = below[row][p];
    check.ranks.push_back(count(own, Counted::in_bins));
    check.within.push_back(count(own, Counted::in_intervals));
  }
  return check;
}

bool CalibrationCheck::holds() const {
  return cover_band.holds(covered) &&
         std::ranges::all_of(ranks, [&](const auto& counts) { return rank_band.holds(counts); }) &&
         std::ranges::all_of(within, [&](const auto& counts) { return interval_band.holds(counts); });
}

void add_check(core::Json& uncertainty, const core::ParameterSpace& parameters,
               const CalibrationCheck& check) {
  uncertainty["calibrated"] = check.holds();
  core::Json& sbc = uncertainty["sbc"];
  int universes = 0;
  for (const int count : check.ranks.front()) universes += count;
  sbc["band"] = {check.rank_band.low.front(), check.rank_band.high.front()};
  add_counts(sbc, parameters, check.rank_band, check.ranks);
  core::Json& intervals = uncertainty["intervals"];
  for (std::size_t i = 0; i < kIntervals.size(); ++i) {
    intervals["probability"].push_back(kIntervals[i]);
    intervals["band"].push_back({check.interval_band.low[i], check.interval_band.high[i]});
  }
  add_counts(intervals, parameters, check.interval_band, check.within);
  core::Json& tarp = uncertainty["tarp"];
  for (std::size_t edge = 1; edge < kBins; ++edge)
    tarp["credibility"].push_back(static_cast<double>(edge) / kBins);
  tarp["coverage"] = shares(check.covered, universes);
  tarp["band_low"] = shares(check.cover_band.low, universes);
  tarp["band_high"] = shares(check.cover_band.high, universes);
  tarp["inside"] = check.cover_band.holds(check.covered);
}

std::string text_of(const core::ParameterSpace& parameters, const CalibrationCheck& check) {
  return fmt::format(
      "bands that hold all of these with 95 % if the posteriors are calibrated: {}; {}; joint coverage (TARP) {}{}\n",
      verdicts("ranks", parameters, check.rank_band, check.ranks),
      verdicts("intervals", parameters, check.interval_band, check.within),
      verdict(check.cover_band, check.covered),
      check.holds() ? "" : "; one right model in twenty has something OUTSIDE by chance");
}

}  // namespace cosmo::infer
