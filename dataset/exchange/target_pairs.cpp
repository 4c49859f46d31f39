#include "dataset/exchange/target_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

#include "core/error.hpp"
#include "core/median.hpp"
#include "histogram/phases/phase_sketch.hpp"

namespace cosmo::dataset {

int cells_of_pairs(double box_size, int side) {
  constexpr double kCell = 16, kMost = 16;
  return std::min(side, static_cast<int>(std::clamp(box_size / kCell, 4.0, kMost)));
}

template <class T>
float correlation_with_target(std::span<const T> voxels, std::span<const float> target, int side, int cells) {
  std::vector<float> a = histogram::cell_sums(voxels, side, cells),
                     b = histogram::cell_sums(target, side, cells);
  if constexpr (std::is_same_v<T, std::uint16_t>)
    for (float& count : a) count = std::log1p(count);  // as linear densities are distributed, nearly
  for (std::vector<float>* sums : {&a, &b}) {
    const double mean = std::reduce(sums->begin(), sums->end(), 0.0) / static_cast<double>(sums->size());
    for (float& sum : *sums) sum -= static_cast<float>(mean);
  }
  const auto product = [](const std::vector<float>& x, const std::vector<float>& y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
  };
  const double norm = std::sqrt(product(a, a) * product(b, b));
  return norm > 0 ? static_cast<float>(product(a, b) / norm) : 0.0f;
}

template float correlation_with_target(std::span<const std::uint16_t>, std::span<const float>, int, int);
template float correlation_with_target(std::span<const float>, std::span<const float>, int, int);

namespace {

/// What is odd about an initial density as such, a sentence without a full stop; empty if nothing is.
std::string oddity_of(const FieldStatistics& target, double usual_deviation) {
  constexpr double kMostMean = 0.1, kMostRatio = 2;
  if (std::abs(target.mean) > kMostMean * target.deviation)
    return fmt::format(
        "has a mean of {:.3g} and a deviation of {:.3g}, where the density contrast has a mean of 0",
        target.mean, target.deviation);
  const double ratio = target.deviation / usual_deviation;
  if (ratio > kMostRatio || ratio * kMostRatio < 1)
    return fmt::format(
        "has a deviation of {:.3g} where others have {:.3g}: it is of another redshift or unit",
        target.deviation, usual_deviation);
  return "";
}

}  // namespace

void ensure_pairs(const core::Log& log, const ForeignSettings& settings, const SampleTable& table,
                  const Scans& found) {
  constexpr double kLeast = 0.5, kNone = 0.2, kSmallestCell = 10;
  std::vector<double> correlations, deviations;
  for (const Scan& scan : found.scans) {
    correlations.push_back(scan.target_correlation);
    deviations.push_back(scan.voxels.target.deviation);
  }
  const double usual = core::median(correlations), usual_deviation = core::median(deviations);
  for (std::size_t row = 0; std::abs(usual) >= kLeast && row < correlations.size(); ++row)
    core::ensure(
        correlations[row] / usual >= 0.5, core::Fault::format,
        "{}: {} and its target {} have a correlation of {:.2f} where others have {:.2f}: they are of different "
        "universes, or turned differently; correct the table.",
        settings.table.string(), name_of(table.rows[row]), table.rows[row].target, correlations[row], usual);
  if (table.target != "initial") return;
  const double box = settings.box_size.value, cell = box / cells_of_pairs(box, found.scans.front().side);
  if (usual < kNone && cell >= kSmallestCell)
    log.warn(
        "{}: the targets do not resemble their samples (a correlation of {:.2f}; initial densities have 0.5 and more): "
        "compare their axes, their order and their sign.",
        settings.table.string(), usual);
  for (std::size_t row = 0; row < correlations.size(); ++row) {
    const std::string odd = oddity_of(found.scans[row].voxels.target, usual_deviation);
    if (odd.empty()) continue;
    log.warn("{}: the target {} {}.", settings.table.string(), table.rows[row].target, odd);
    break;
  }
}

}  // namespace cosmo::dataset
