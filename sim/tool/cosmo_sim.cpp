#include "sim/tool/cosmo_sim.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/error.hpp"
#include "core/fourier/fourier_mesh.hpp"
#include "core/machine/memory.hpp"
#include "core/parallel/parallel.hpp"
#include "core/run/stage.hpp"
#include "core/timer.hpp"
#include "core/universe/cosmic_web.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "histogram/field_file.hpp"
#include "sim/suite/rank_layout.hpp"
#include "sim/tool/cosmo_sim_inspect.hpp"
#include "sim/tool/cosmo_sim_noise.hpp"
#include "sim/tool/make_suite.hpp"
#include "sim/tool/suite_plan.hpp"

namespace {

using namespace cosmo;
using core::Json;

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
    missing_ = sim::missing_in(suite_, there, slice, plan_.growth);
    const std::size_t units = missing_.own().size();
    if (units > 0) layout_ = layout_for_rest(run, plan_, units, layout_);
    return {.memory = units > 0 ? layout_.memory.per_rank : 0,  // finished universes need none
            .memory_cause = fmt::format(
                "--particles {} with --mesh {}{} need", plan_.config.box.particles_per_side,
                std::ranges::max(plan_.gravity.mesh.values()),
                plan_.products.voxels > 0 ? fmt::format(" and --grid {}", plan_.products.voxels) : ""),
            .memory_remedy = "choose fewer",
            .disk = sim::disk_of(plan_, suite_.simulations),
            .disk_missing = sim::disk_of(plan_, missing_.own()),
            .disk_cause = "The universes to make",
            .disk_remedy = "make room, or make or save less"};
  }

  core::Report outline() override {
    const std::int64_t own = sim::count(missing_.own());
    if (own > 0) plan_.warn(run.log);
    core::Report report{facts(), plan_.describe()};
    report.facts["ranks_per_simulation"] = layout_.ranks_per_simulation;
    report.facts["simulations_to_make"] = sim::count(missing_.to_make);
    if (!plan_.growth.directory.empty()) report.facts["simulations_to_link"] = sim::count(missing_.to_link);
    if (plan_.gravity.vary() && !missing_.to_make.empty()) {
      const double cost = sim::cost_of(plan_, missing_.to_make);
      report.facts["relative_cost"] = cost;
      report.text += fmt::format(
          "to make them takes {:.1f} times as long as one universe with --mesh {} and --steps 10\n", cost,
          plan_.config.box.particles_per_side);
    }
    report.facts["simulations_left"] = missing_.others;
    report.facts["up_to_date"] = own == 0;
    const int all = plan_.universes.size();
    const auto there = all - own - missing_.others;
    if (there > 0 || missing_.others > 0) {
      report.text +=
          fmt::format("{} of {} universes are there; to make: {}{}\n", there, all, own, slice_text());
    }
    return report;
  }

  core::Report make(core::OutputDirectory& output) override {
    const core::Timer timer;
    const sim::Missing missing = sim::missing_in(suite_, output.manifest(), slice, plan_.growth);
    const std::int64_t linked = sim::count(missing.to_link), made = sim::count(missing.to_make);
    if (linked > 0) sim::link_units(run, output, plan_.growth, missing.to_link);
    if (made > 0) {
      run.log.info("{}, {} per {}", core::ranks_and_threads(run.comm.size(), core::thread_count()),
                   layout_.ranks_per_simulation, plan_.products.pack > 0 ? "pack" : "universe");
      sim::make_units(run, output, plan_, missing.to_make, layout_.ranks_per_simulation);
    }
    Json run_facts = run.facts;
    run_facts["threads"] = core::thread_count();
    run_facts["simulation"] = {{"universes", made}, {"seconds", timer.seconds()}};
    const bool all = output.finish_if_all(run.tool, run_facts);
    const std::int64_t left =
        all ? 0 : sim::missing_in(suite_, output.manifest(), slice, plan_.growth).others;
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
    if (made > 0) add_web(report, output, missing.to_make.front().front());
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
  /// Adds the volume shares of a universe's classes at its lowest redshift, if classes are saved. Warns of a class without a voxel.
  void add_web(core::Report& report, const core::OutputDirectory& output,
               const core::SimulationRecord& universe) const {
    const std::string& path = universe.outputs.front().web;
    if (path.empty()) return;
    core::WebVolumes volumes;
    run.comm.agree([&] { volumes = histogram::web_volumes(histogram::FieldFile(output.path() / path)); });
    report.text += fmt::format("volume of {}: {}\n", path, volumes.text());
    for (std::size_t c = 0; c < volumes.voxels.size(); ++c) {
      const std::string name(core::kWebClasses[c]);
      report.facts["volume_shares"][name] = volumes.share(c);
      if (volumes.voxels[c] == 0)
        run.log.warn("{} has no {}: choose another R or LAMBDA of --web, or a larger --box.", path, name);
    }
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
  sim::Missing missing_;
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
