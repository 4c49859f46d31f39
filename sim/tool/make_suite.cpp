#include "sim/tool/make_suite.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "core/file/files.hpp"
#include "core/log.hpp"
#include "core/parallel/rounds.hpp"
#include "core/parallel/stop_signals.hpp"
#include "sim/product/universe.hpp"

namespace cosmo::sim {

namespace {

double cost_of(const Plan& plan, const Unit& unit) {
  double sum = 0;
  for (const core::SimulationRecord& universe : unit) sum += sim::cost_of(plan, universe);
  return sum;
}

/// Shows how many universes are made, or steps if there is one alone. Within a round of packs it takes the other groups to be as
/// far as this rank's.
class SuiteProgress {
 public:
  SuiteProgress(const core::Invocation& run, const Plan& plan, std::span<const Unit> units, int groups)
      : plan_(plan),
        left_(units),
        groups_(static_cast<std::size_t>(groups)),
        one_(count(units) == 1),
        progress_(run.log, one_ ? "steps" : "universes",
                  one_ ? plan.drawn.of(units.front().front().index).steps : count(units),
                  one_ ? 0 : cost_of(plan, units)) {}

  void after_step() {
    if (one_) progress_.advance();
  }
  void after_universe(const core::SimulationRecord& universe) {
    if (one_ || plan_.products.pack == 0) return;
    const std::span<const Unit> round = left_.first(std::min(groups_, left_.size()));
    const auto more = std::min(static_cast<std::int64_t>(round.size()), count(round) - shown_);
    shown_ += more;
    const double work = static_cast<double>(more) * sim::cost_of(plan_, universe);
    shown_work_ += work;
    progress_.advance_by(more, work);
  }
  void after_round(std::size_t units) {
    if (one_) return;
    const std::span<const Unit> done = left_.first(units);
    left_ = left_.subspan(units);
    const std::int64_t more = count(done) - shown_;
    if (more > 0 || !left_.empty()) progress_.advance_by(more, cost_of(plan_, done) - shown_work_);
    shown_ = 0;
    shown_work_ = 0;
  }

 private:
  const Plan& plan_;
  std::span<const Unit> left_;
  std::size_t groups_;
  bool one_;
  std::int64_t shown_ = 0;  ///< in this round
  double shown_work_ = 0;
  core::Progress progress_;
};

}  // namespace

std::int64_t count(std::span<const Unit> units) {
  std::int64_t sum = 0;
  for (const Unit& unit : units) sum += static_cast<std::int64_t>(unit.size());
  return sum;
}

double cost_of(const Plan& plan, std::span<const Unit> units) {
  double sum = 0;
  for (const Unit& unit : units) sum += cost_of(plan, unit);
  return sum;
}

std::uint64_t disk_of(const Plan& plan, std::span<const Unit> units) {
  std::uint64_t sum = 0;
  for (const Unit& unit : units) sum += sim::disk_of(plan, unit);
  return sum;
}

std::vector<Unit> Missing::own() const {
  std::vector<Unit> all = to_link;
  all.insert(all.end(), to_make.begin(), to_make.end());
  return all;
}

Missing missing_in(const core::SimulationManifest& suite, const core::Manifest& there,
                   const core::Slice& slice, const Growth& growth) {
  std::set<std::string_view> made;
  for (const core::FileRecord& file : there.files) made.insert(file.path);
  Missing missing;
  const auto size = static_cast<std::size_t>(std::max(suite.pack, 1));
  for (Unit left = suite.simulations; !left.empty(); left = left.subspan(std::min(size, left.size()))) {
    const Unit unit = left.first(std::min(size, left.size()));
    const core::SimulationRecord& first = unit.front();
    const std::vector<std::string> files = first.files();
    if (std::ranges::all_of(files, [&](const auto& file) { return made.contains(file); })) continue;
    if (first.index < slice.first || first.index >= slice.last)
      missing.others += static_cast<std::int64_t>(unit.size());
    else
      (growth.has(first) ? missing.to_link : missing.to_make).push_back(unit);
  }
  return missing;
}

void make_units(const core::Invocation& run, core::OutputDirectory& output, const Plan& plan,
                std::vector<Unit> units, int ranks_per_simulation) {
  if (plan.gravity.vary())
    std::ranges::stable_sort(units, std::greater(), [&](const Unit& unit) { return cost_of(plan, unit); });
  SuiteProgress progress(run, plan, units, run.comm.size() / ranks_per_simulation);
  const core::Communicator group = run.comm.split(run.comm.rank() / ranks_per_simulation);
  std::vector<core::FileRecord> finished;
  core::in_rounds(
      run.comm, group, units.size(),
      [&](std::size_t i) {
        const auto step = [&](const Step& now) {
          progress.after_step();
          if (now.a_next < 1) core::stop_if_asked(group);
        };
        const auto config_of = [&](std::size_t universe) { return plan.config_of(universe); };
        finished = make_universes(
            group, output, config_of, plan.products, units[i],
            {step, [&](const core::SimulationRecord& universe) { progress.after_universe(universe); }});
      },
      [&](std::size_t made) {
        output.record(finished);
        finished.clear();
        progress.after_round(made);
      });
}

void link_units(const core::Invocation& run, core::OutputDirectory& output, const Growth& growth,
                std::span<const Unit> units) {
  core::Progress progress(run.log, "universes linked", count(units));
  std::vector<core::FileRecord> finished;
  std::span<const Unit> left = units;
  core::in_rounds(
      run.comm, units.size(), [&](std::size_t i) { finished = link_files(growth, output, units[i].front()); },
      [&](std::size_t linked) {
        output.record(finished);
        finished.clear();
        progress.advance(count(left.first(linked)));
        left = left.subspan(linked);
      });
  run.comm.agree([&] {
    if (run.comm.is_root()) core::sync_file_system(output.path());
  });
}

}  // namespace cosmo::sim
