#include "train/gradient/straggler_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace cosmo::train {

namespace {

core::Json to_json_ms(const Spread& spread) {
  return {{"min", 1e3 * spread.min}, {"mean", 1e3 * spread.mean}, {"max", 1e3 * spread.max}};
}

std::string describe(const Spread& spread) {
  return fmt::format("{:.1f} ms ({:.1f} to {:.1f})", 1e3 * spread.mean, 1e3 * spread.min, 1e3 * spread.max);
}

}  // namespace

core::Json StragglerReport::to_json() const {
  return {{"step_computing_ms", to_json_ms(computing)}, {"step_exchanging_ms", to_json_ms(exchanging)},
          {"step_waiting_ms", to_json_ms(waiting)},     {"step_exposed_ms", to_json_ms(exposed)},
          {"reduction_hidden_share", hidden},           {"slowest_rank", slowest}};
}

std::string StragglerReport::describe() const {
  if (ranks == 1) return fmt::format("a step computes {:.1f} ms\n", 1e3 * computing.mean);
  const std::string exchanges =
      exchanging.max > 0 ? fmt::format("exchanges planes of samples for {}; ", train::describe(exchanging))
                         : "";
  return fmt::format(
      "a step computes {}, mean (least to most) of {} ranks, rank {} the longest; {}waits {} for other ranks "
      "and {} for the reduction; backward hides {:.1f} % of it\n",
      train::describe(computing), ranks, slowest, exchanges, train::describe(waiting),
      train::describe(exposed), 100 * hidden);
}

StragglerReport report_stragglers(const core::Communicator& comm, const RankTimes& times) {
  const auto steps = static_cast<double>(std::max<std::int64_t>(1, times.steps));
  const std::array<double, 5> own = {times.computing / steps, times.exchanging / steps,
                                     times.reduction.waiting / steps, times.reduction.exposed / steps,
                                     times.reduction.hidden_share()};
  std::vector<double> all(own.size() * static_cast<std::size_t>(comm.size()));
  comm.all_gather(std::span<const double>(own), std::span(all));
  const auto spread = [&](std::size_t value) {
    Spread result{all[value], 0, all[value]};
    for (std::size_t i = value; i < all.size(); i += own.size()) {
      result.min = std::min(result.min, all[i]);
      result.mean += all[i] / comm.size();
      result.max = std::max(result.max, all[i]);
    }
    return result;
  };
  const Spread computing = spread(0);
  int slowest = 0;
  while (all[static_cast<std::size_t>(slowest) * own.size()] < computing.max) ++slowest;
  return {comm.size(), computing, spread(1), spread(2), spread(3), spread(4).mean, slowest};
}

}  // namespace cosmo::train
