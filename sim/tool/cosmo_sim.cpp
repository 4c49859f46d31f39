#include "sim/tool/cosmo_sim.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/fourier/fourier_mesh.hpp"
#include "core/machine/memory.hpp"
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

/// The universes that are still missing.
struct Missing {
  std::vector<core::SimulationRecord> own;  ///< those in the plan's slice
  std::int64_t others = 0;
};

Missing missing_universes(const core::Manifest& there, const core::Slice& slice,
                          const core::SimulationManifest& suite) {
  std::set<std::string_view> made;
  for (const core::FileRecord& file : there.files) made.insert(file.path);
  Missing missing;
  for (const core::SimulationRecord& record : suite.simulations) {
    if (std::ranges::all_of(record.files(), [&](const auto& file) { return made.contains(file); })) continue;
    const bool own = record.index >= slice.first && record.index < slice.last;
    if (own) {
      missing.own.push_back(record);
    } else {
      ++missing.others;
    }
  }
  return missing;
}

double cost_of(const sim::Plan& plan, std::span<const core::SimulationRecord> universes) {
  double sum = 0;
  for (const core::SimulationRecord& universe : universes) sum += sim::cost_of(plan, universe);
  return sum;
}

/// Lets groups of ranks make universes in rounds of one universe per group; the most expensive come first, so that those of
/// a round take about as long. Collective.
void make_universes(const core::Invocation& run, core::OutputDirectory& output, const sim::Plan& plan,
                    std::vector<core::SimulationRecord> universes, int ranks_per_simulation) {
  const bool one = universes.size() == 1;
  if (plan.gravity.vary())
    std::ranges::stable_sort(universes, std::greater(),
                             [&](const auto& universe) { return sim::cost_of(plan, universe); });
  std::span<const core::SimulationRecord> left = universes;
  core::Progress progress(
      run.log, one ? "steps" : "universes",
      one ? plan.drawn.of(universes.front().index).steps : static_cast<std::int64_t>(universes.size()),
      one ? 0 : cost_of(plan, universes));
  const core::Communicator group = run.comm.split(run.comm.rank() / ranks_per_simulation);
  std::vector<core::FileRecord> finished;
  core::in_rounds(
      run.comm, group, universes.size(),
      [&](std::size_t i) {
        const auto after_step = [&](const sim::Step& step) {
          if (one) progress.advance();
          if (step.a_next < 1) core::stop_if_asked(group);
        };
        finished = sim::make_universe(group, output, plan.config_of(universes[i].index), plan.products,
                                      universes[i], after_step);
      },
      [&](std::size_t items) {
        output.record(finished);
        finished.clear();
        if (one) return;
        progress.advance_by(static_cast<std::int64_t>(items), cost_of(plan, left.first(items)));
        left = left.subspan(items);
      });
}

/// Links the universes that the smaller suite has. Collective.
void link_universes(const core::Invocation& run, core::OutputDirectory& output, const sim::Growth& growth,
                    const std::vector<core::SimulationRecord>& universes) {
  core::Progress progress(run.log, "universes linked", static_cast<std::int64_t>(universes.size()));
  std::vector<core::FileRecord> finished;
  core::in_rounds(
      run.comm, universes.size(),
      [&](std::size_t i) { finished = sim::link_files(growth, output, universes[i]); },
      [&](std::size_t items) {
        output.record(finished);
        finished.clear();
        progress.advance(static_cast<std::int64_t>(items));
      });
}

/// How the ranks share this number of universes. Collective.
sim::RankLayout layout_for(const core::Invocation& run, const sim::Plan& plan, int universes) {
  const int threads = run.comm.max(run.threads);
  return sim::choose_layout(run.comm, plan.universes.ranks_each, universes,
                            [&](int ranks) { return sim::memory_of(plan, ranks, threads); });
}

/// How the ranks share the few universes that an earlier run left: in larger groups if these leave no rank
/// idle, otherwise as `planned` for all universes. Collective.
sim::RankLayout layout_for_rest(const core::Invocation& run, const sim::Plan& plan, std::size_t universes,
                                const sim::RankLayout& planned) {
  try {
    return layout_for(run, plan, static_cast<int>(universes));
  } catch (const core::Error& error) {
    if (!error.agreed()) throw;
    return planned;
  }
}

class GenerateStage : public core::Stage {
 public:
  explicit GenerateStage(const core::Invocation& invocation) : Stage(invocation) {
    run.comm.agree([&] { plan_ = sim::read_plan(run.options); });
    suite_ = sim::suite_of(plan_);
    request = sim::request_of(plan_);
    request.foreseen = suite_.foreseen();
    slice = plan_.universes.slice;
    plan_.config.start.explain(run.log, plan_.universes);
  }

  core::Needs needs(const core::Manifest& there) override {
    layout_ = layout_for(run, plan_, plan_.universes.selected());
    missing_ = missing_universes(there, slice, suite_);
    const std::size_t universes = missing_.own.size();
    if (universes > 0) layout_ = layout_for_rest(run, plan_, universes, layout_);
    return {.memory = universes > 0 ? layout_.memory.per_rank : 0,  // finished universes need none
            .memory_cause = fmt::format(
                "--particles {} with --mesh {}{} need", plan_.config.box.particles_per_side,
                std::ranges::max(plan_.gravity.mesh.values()),
                plan_.products.voxels > 0 ? fmt::format(" and --grid {}", plan_.products.voxels) : ""),
            .memory_remedy = "choose fewer",
            .disk = sim::disk_of(plan_, suite_.simulations),
            .disk_missing = sim::disk_of(plan_, missing_.own),
            .disk_cause = "The universes to make",
            .disk_remedy = "make room, or make or save less"};
  }

  core::Report outline() override {
    if (!missing_.own.empty()) plan_.warn(run.log);
    core::Report report{facts(), plan_.describe()};
    report.facts["ranks_per_simulation"] = layout_.ranks_per_simulation;
    std::vector<core::SimulationRecord> to_make = missing_.own;
    std::erase_if(to_make, [&](const auto& universe) { return plan_.growth.has(universe); });
    report.facts["simulations_to_make"] = to_make.size();
    if (!plan_.growth.directory.empty())
      report.facts["simulations_to_link"] = missing_.own.size() - to_make.size();
    if (plan_.gravity.vary() && !to_make.empty()) {
      const double cost = cost_of(plan_, to_make);
      report.facts["relative_cost"] = cost;
      report.text +=
          fmt::format("to make them takes {:.1f} times as long as one universe with --mesh {} and --steps 10\n",
                      cost, plan_.config.box.particles_per_side);
    }
    report.facts["simulations_left"] = missing_.others;
    report.facts["up_to_date"] = missing_.own.empty();
    const int all = plan_.universes.size();
    const auto there = all - static_cast<std::int64_t>(missing_.own.size()) - missing_.others;
    if (there > 0 || missing_.others > 0) {
      report.text += fmt::format("{} of {} universes are there; to make: {}{}\n", there, all,
                                 missing_.own.size(), slice_text());
    }
    return report;
  }

  core::Report make(core::OutputDirectory& output) override {
    const core::Timer timer;
    std::vector<core::SimulationRecord> missing = missing_universes(output.manifest(), slice, suite_).own;
    const auto made = std::ranges::stable_partition(
        missing, [&](const auto& universe) { return plan_.growth.has(universe); });
    const std::vector<core::SimulationRecord> linked(missing.begin(), made.begin());
    missing.erase(missing.begin(), made.begin());
    if (!linked.empty()) link_universes(run, output, plan_.growth, linked);
    if (!missing.empty()) {
      run.log.info("{}, {} per universe", core::ranks_and_threads(run.comm.size(), run.threads),
                   layout_.ranks_per_simulation);
      make_universes(run, output, plan_, missing, layout_.ranks_per_simulation);
    }
    Json run_facts = run.facts;
    run_facts["simulation"] = {{"universes", missing.size()}, {"seconds", timer.seconds()}};
    const bool all = output.finish_if_all(run.tool, run_facts);
    const std::int64_t left = all ? 0 : missing_universes(output.manifest(), slice, suite_).others;
    core::Report report{
        {{"up_to_date", missing.empty() && linked.empty()},
         {"simulations_made", missing.size()},
         {"simulations_left", left}},
        missing.empty() && linked.empty() ? fmt::format("{} is up to date", target) : target + ":"};
    if (!linked.empty())
      report.text += fmt::format(" {} universes of {} linked{}", linked.size(),
                                 plan_.growth.directory.string(), missing.empty() ? "" : ",");
    if (!missing.empty()) {
      const std::uint64_t peak = run.comm.max(core::peak_resident_memory());
      report.text +=
          fmt::format(" {} universe{} in {}; at most {} of memory per rank, {} predicted", missing.size(),
                      missing.size() == 1 ? "" : "s", core::format_duration(timer.seconds()),
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
