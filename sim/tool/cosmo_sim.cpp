#include "sim/tool/cosmo_sim.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/file/files.hpp"
#include "core/fourier/fourier_mesh.hpp"
#include "core/machine/memory.hpp"
#include "core/parallel/parallel.hpp"
#include "core/parallel/rounds.hpp"
#include "core/parallel/stop_signals.hpp"
#include "core/run/stage.hpp"
#include "core/timer.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "sim/product/universe.hpp"
#include "sim/suite/rank_layout.hpp"
#include "sim/tool/cosmo_sim_inspect.hpp"
#include "sim/tool/cosmo_sim_noise.hpp"
#include "sim/tool/suite_plan.hpp"

namespace {

using namespace cosmo;
using core::Fault;
using core::Json;

/// Universes that share their files: those of a pack, or one alone.
using Unit = std::span<const core::SimulationRecord>;

/// What is still missing.
struct Missing {
  std::vector<Unit> own;    ///< in the plan's slice
  std::int64_t others = 0;  ///< universes

  std::int64_t universes() const { return count(own); }
  static std::int64_t count(std::span<const Unit> units) {
    return std::accumulate(
        units.begin(), units.end(), std::int64_t{0},
        [](std::int64_t sum, const Unit& unit) { return sum + static_cast<std::int64_t>(unit.size()); });
  }
};

Missing missing_universes(const core::Manifest& there, const core::Slice& slice,
                          const core::SimulationManifest& suite) {
  std::set<std::string_view> made;
  for (const core::FileRecord& file : there.files) made.insert(file.path);
  Missing missing;
  const auto size = static_cast<std::size_t>(std::max(suite.pack, 1));
  for (Unit left = suite.simulations; !left.empty(); left = left.subspan(std::min(size, left.size()))) {
    const Unit unit = left.first(std::min(size, left.size()));
    const std::vector<std::string> files = unit.front().files();
    if (std::ranges::all_of(files, [&](const auto& file) { return made.contains(file); })) continue;
    const bool own = unit.front().index >= slice.first && unit.front().index < slice.last;
    if (own) {
      missing.own.push_back(unit);
    } else {
      missing.others += static_cast<std::int64_t>(unit.size());
    }
  }
  return missing;
}

double cost_of(const sim::Plan& plan, Unit universes) {
  double sum = 0;
  for (const core::SimulationRecord& universe : universes) sum += sim::cost_of(plan, universe);
  return sum;
}

double cost_of(const sim::Plan& plan, std::span<const Unit> units) {
  double sum = 0;
  for (const Unit& unit : units) sum += cost_of(plan, unit);
  return sum;
}

/// Shows how many universes are made, or steps if there is one alone. Within a round of packs it takes the other groups to be as
/// far as this rank's.
class SuiteProgress {
 public:
  SuiteProgress(const core::Invocation& run, const sim::Plan& plan, std::span<const Unit> units, int groups)
      : plan_(plan),
        left_(units),
        groups_(static_cast<std::size_t>(groups)),
        one_(Missing::count(units) == 1),
        progress_(run.log, one_ ? "steps" : "universes",
                  one_ ? plan.drawn.of(units.front().front().index).steps : Missing::count(units),
                  one_ ? 0 : cost_of(plan, units)) {}

  void after_step() {
    if (one_) progress_.advance();
  }
  void after_universe(const core::SimulationRecord& universe) {
    if (one_ || plan_.products.pack == 0) return;
    const std::span<const Unit> round = left_.first(std::min(groups_, left_.size()));
    const auto more = std::min(static_cast<std::int64_t>(round.size()), Missing::count(round) - shown_);
    shown_ += more;
    const double work = static_cast<double>(more) * sim::cost_of(plan_, universe);
    shown_work_ += work;
    progress_.advance_by(more, work);
  }
  void after_round(std::size_t units) {
    if (one_) return;
    const std::span<const Unit> done = left_.first(units);
    left_ = left_.subspan(units);
    const std::int64_t more = Missing::count(done) - shown_;
    if (more > 0 || !left_.empty()) progress_.advance_by(more, cost_of(plan_, done) - shown_work_);
    shown_ = 0;
    shown_work_ = 0;
  }

 private:
  const sim::Plan& plan_;
  std::span<const Unit> left_;
  std::size_t groups_;
  bool one_;
  std::int64_t shown_ = 0;  ///< in this round
  double shown_work_ = 0;
  core::Progress progress_;
};

/// Lets groups of ranks make units in rounds of one per group; the most expensive come first, so that those of a round take about
/// as long. Collective.
void make_units(const core::Invocation& run, core::OutputDirectory& output, const sim::Plan& plan,
                std::vector<Unit> units, int ranks_per_simulation) {
  if (plan.gravity.vary())
    std::ranges::stable_sort(units, std::greater(), [&](const Unit& unit) { return cost_of(plan, unit); });
  SuiteProgress progress(run, plan, units, run.comm.size() / ranks_per_simulation);
  const core::Communicator group = run.comm.split(run.comm.rank() / ranks_per_simulation);
  std::vector<core::FileRecord> finished;
  core::in_rounds(
      run.comm, group, units.size(),
      [&](std::size_t i) {
        const auto step = [&](const sim::Step& now) {
          progress.after_step();
          if (now.a_next < 1) core::stop_if_asked(group);
        };
        const auto config_of = [&](std::size_t universe) { return plan.config_of(universe); };
        finished = sim::make_universes(
            group, output, config_of, plan.products, units[i],
            {step, [&](const core::SimulationRecord& universe) { progress.after_universe(universe); }});
      },
      [&](std::size_t made) {
        output.record(finished);
        finished.clear();
        progress.after_round(made);
      });
}

/// Links the units that the smaller suite has. Collective.
void link_units(const core::Invocation& run, core::OutputDirectory& output, const sim::Growth& growth,
                std::span<const Unit> units) {
  core::Progress progress(run.log, "universes linked", Missing::count(units));
  std::vector<core::FileRecord> finished;
  std::span<const Unit> left = units;
  core::in_rounds(
      run.comm, units.size(),
      [&](std::size_t i) { finished = sim::link_files(growth, output, units[i].front()); },
      [&](std::size_t linked) {
        output.record(finished);
        finished.clear();
        progress.advance(Missing::count(left.first(linked)));
        left = left.subspan(linked);
      });
  run.comm.agree([&] {
    if (run.comm.is_root()) core::sync_file_system(output.path());
  });
}

/// How the ranks share this number of units. Collective.
sim::RankLayout layout_for(const core::Invocation& run, const sim::Plan& plan, int units) {
  const int threads = run.comm.max(core::thread_count());
  return sim::choose_layout(run.comm, plan.universes.ranks_each, units,
                            [&](int ranks) { return sim::memory_of(plan, ranks, threads); });
}

/// How the ranks share the few units that an earlier run left: in larger groups if these leave no rank
/// idle, otherwise as `planned` for all. Collective.
sim::RankLayout layout_for_rest(const core::Invocation& run, const sim::Plan& plan, std::size_t units,
                                const sim::RankLayout& planned) {
  try {
    return layout_for(run, plan, static_cast<int>(units));
  } catch (const core::Error& error) {
    if (!error.agreed()) throw;
    return planned;
  }
}

class GenerateStage : public core::Stage {
 public:
  explicit GenerateStage(const core::Invocation& invocation) : Stage(invocation) {
    run.comm.agree([&] { plan_ = sim::read_plan(run.options); });
    if (run.options.integer("threads", 0, 4096) == 0)
      core::limit_threads(sim::useful_threads(plan_.config.box));
    suite_ = sim::suite_of(plan_);
    request = sim::request_of(plan_);
    request.foreseen = suite_.foreseen();
    slice = plan_.universes.slice;
    plan_.config.start.explain(run.log, plan_.universes);
  }

  core::Needs needs(const core::Manifest& there) override {
    const int each = std::max(plan_.products.pack, 1);
    layout_ = layout_for(run, plan_, (plan_.universes.selected() + each - 1) / each);
    missing_ = missing_universes(there, slice, suite_);
    const std::size_t units = missing_.own.size();
    if (units > 0) layout_ = layout_for_rest(run, plan_, units, layout_);
    return {.memory = units > 0 ? layout_.memory.per_rank : 0,  // finished universes need none
            .memory_cause = fmt::format(
                "--particles {} with --mesh {}{} need", plan_.config.box.particles_per_side,
                std::ranges::max(plan_.gravity.mesh.values()),
                plan_.products.voxels > 0 ? fmt::format(" and --grid {}", plan_.products.voxels) : ""),
            .memory_remedy = "choose fewer",
            .disk = sim::disk_of(plan_, suite_.simulations),
            .disk_missing = disk_of(missing_.own),
            .disk_cause = "The universes to make",
            .disk_remedy = "make room, or make or save less"};
  }

  core::Report outline() override {
    if (!missing_.own.empty()) plan_.warn(run.log);
    core::Report report{facts(), plan_.describe()};
    report.facts["ranks_per_simulation"] = layout_.ranks_per_simulation;
    const auto [to_link, to_make] = split(missing_.own);
    report.facts["simulations_to_make"] = Missing::count(to_make);
    if (!plan_.growth.directory.empty()) report.facts["simulations_to_link"] = Missing::count(to_link);
    if (plan_.gravity.vary() && !to_make.empty()) {
      const double cost = cost_of(plan_, to_make);
      report.facts["relative_cost"] = cost;
      report.text += fmt::format(
          "to make them takes {:.1f} times as long as one universe with --mesh {} and --steps 10\n", cost,
          plan_.config.box.particles_per_side);
    }
    report.facts["simulations_left"] = missing_.others;
    report.facts["up_to_date"] = missing_.own.empty();
    const int all = plan_.universes.size();
    const auto there = all - missing_.universes() - missing_.others;
    if (there > 0 || missing_.others > 0) {
      report.text += fmt::format("{} of {} universes are there; to make: {}{}\n", there, all,
                                 missing_.universes(), slice_text());
    }
    return report;
  }

  core::Report make(core::OutputDirectory& output) override {
    const core::Timer timer;
    const auto [to_link, to_make] = split(missing_universes(output.manifest(), slice, suite_).own);
    const std::int64_t linked = Missing::count(to_link), made = Missing::count(to_make);
    if (linked > 0) link_units(run, output, plan_.growth, to_link);
    if (made > 0) {
      run.log.info("{}, {} per {}", core::ranks_and_threads(run.comm.size(), core::thread_count()),
                   layout_.ranks_per_simulation, plan_.products.pack > 0 ? "pack" : "universe");
      make_units(run, output, plan_, to_make, layout_.ranks_per_simulation);
    }
    Json run_facts = run.facts;
    run_facts["threads"] = core::thread_count();
    run_facts["simulation"] = {{"universes", made}, {"seconds", timer.seconds()}};
    const bool all = output.finish_if_all(run.tool, run_facts);
    const std::int64_t left = all ? 0 : missing_universes(output.manifest(), slice, suite_).others;
    const bool nothing = made == 0 && linked == 0;
    core::Report report{{{"up_to_date", nothing}, {"simulations_made", made}, {"simulations_left", left}},
                        nothing ? fmt::format("{} is up to date", target) : target + ":"};
    if (linked > 0)
      report.text += fmt::format(" {} universes of {} linked{}", linked, plan_.growth.directory.string(),
                                 made == 0 ? "" : ",");
    if (made > 0) {
      const std::uint64_t peak = run.comm.max(core::peak_resident_memory());
      report.text += fmt::format(" {} universe{} in {}; at most {} of memory per rank, {} predicted", made,
                                 made == 1 ? "" : "s", core::format_duration(timer.seconds()),
                                 core::format_bytes(static_cast<double>(peak)),
                                 core::format_bytes(static_cast<double>(layout_.memory.per_rank)));
    }
    if (left > 0)
      report.text +=
          fmt::format("; {} of {} universes are left to other slices", left, plan_.universes.size());
    report.text += "\n";
    return report;
  }

  core::Report found(const core::Manifest&) override {
    Json found = facts();
    found.update({{"simulations_to_make", 0}, {"simulations_made", 0}, {"simulations_left", 0}});
    return {found, ""};
  }

 private:
  /// The units that are to be linked, and those that are to be made.
  std::pair<std::vector<Unit>, std::vector<Unit>> split(const std::vector<Unit>& units) const {
    std::vector<Unit> to_link, to_make;
    for (const Unit& unit : units) (plan_.growth.has(unit.front()) ? to_link : to_make).push_back(unit);
    return {to_link, to_make};
  }
  std::uint64_t disk_of(const std::vector<Unit>& units) const {
    std::uint64_t sum = 0;
    for (const Unit& unit : units) sum += sim::disk_of(plan_, unit);
    return sum;
  }
  Json facts() const {
    return {{"simulations", plan_.universes.size()},
            {"select", {slice.first, slice.first + plan_.universes.selected()}}};
  }
  /// " of --select 1:5", or nothing if all universes are selected.
  std::string slice_text() const {
    const int selected = plan_.universes.selected();
    return selected == plan_.universes.size()
               ? ""
               : fmt::format(" of --select {}:{}", slice.first, slice.first + selected);
  }

  sim::Plan plan_;
  core::SimulationManifest suite_;
  sim::RankLayout layout_;
  Missing missing_;
};

void run_generate(const core::Invocation& run) {
  GenerateStage stage(run);
  core::run_stage(stage);
}

}  // namespace

core::Tool sim::cosmo_sim_tool() {
  return {"cosmo-sim",
          "universes from cosmological parameters",
          {fourier::library_version()},
          {{"generate", "simulates one universe or a suite and counts its particles in voxels",
            "mpirun -n 2 cosmo-sim generate --simulations 64 --omega-m 0.25:0.35 --sigma8 0.78:0.95 --n-s "
            "0.9:1.0 --particles 128 --output sim",
            true, core::OnStop::save, &sim::declare_suite, &run_generate},
           {"inspect", "checks a snapshot or counts file and prints what it holds, with its P(k)",
            "cosmo-sim inspect sim/sim-00000/counts_z0.h5 --png slice.png", false, core::OnStop::end,
            &sim::declare_inspect, &sim::run_inspect, &sim::inspected_files},
           {"noise", "writes the white noise from which a universe's initial field is made",
            "cosmo-sim noise --seed 1 --particles 256 --output noise.npy", false, core::OnStop::end,
            &sim::declare_noise, &sim::run_noise}}};
}
