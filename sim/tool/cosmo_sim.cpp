#include "sim/tool/cosmo_sim.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/fourier/fourier_mesh.hpp"
#include "core/machine/memory.hpp"
#include "core/parallel/rounds.hpp"
#include "core/parallel/stop_signals.hpp"
#include "core/run/stage.hpp"
#include "core/timer.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "sim/linear/linear_power.hpp"
#include "sim/simulation.hpp"
#include "sim/suite/rank_layout.hpp"
#include "sim/tool/cosmo_sim_inspect.hpp"
#include "sim/tool/cosmo_sim_noise.hpp"
#include "sim/tool/suite_plan.hpp"
#include "sim/tool/universe.hpp"

namespace {

using namespace cosmo;
using core::Fault;
using core::Json;

/// Limit on the particle spacing [rms displacements]. Particles further apart have often not left the voxel
/// in which they started: P(k) of the counts is accurate to 2 % here, 5 % too low at 1.9 and 15 % at 2.4.
constexpr double kSparse = 1.7;

/// The universes that are still missing.
struct Missing {
  std::vector<core::SimulationRecord> own;  ///< those in the plan's slice
  std::int64_t others = 0;
};

/// "counts on 128³ voxels and particles at z = 0, 0.5".
std::string contents(const sim::Plan& plan) {
  std::string text = plan.save_counts ? fmt::format("counts on {}³ voxels", plan.grid) : "";
  if (plan.save_particles) text += text.empty() ? "particles" : " and particles";
  return fmt::format("{} at z = {}", text, fmt::join(plan.numerics.redshifts, ", "));
}

std::string describe(const sim::Plan& plan) {
  const sim::SimulationConfig& numerics = plan.numerics;
  return fmt::format("{} universe{} of {}³ particles in {} {}, force mesh {}³, {} steps from z = {}, {}\n",
                     plan.simulations, plan.simulations == 1 ? "" : "s", numerics.particles_per_side,
                     plan.box.value, name_of(plan.box.unit), numerics.mesh_per_side, numerics.steps,
                     numerics.z_initial, contents(plan));
}

/// Reports what was read from a table of the spectrum and how it is used.
void explain_table(const core::Log& log, const sim::Plan& plan) {
  if (!plan.numerics.table) return;
  constexpr double kRemarkable = 1e-3;
  const sim::SpectrumTable& table = *plan.numerics.table;
  const bool power = table.kind == sim::SpectrumTable::Kind::power;
  const core::ParameterSpace& varying = plan.varying;
  const auto p = static_cast<std::size_t>(std::ranges::find(varying.names, "sigma8") - varying.names.begin());
  const std::string target = p == varying.size() ? fmt::format("{}", plan.base.sigma8)
                                                 : fmt::format("{} to {}", varying.low[p], varying.high[p]);
  log.info("--transfer {}: {}, {} rows, {:.6g} <= k <= {:.6g} h/Mpc, {} to sigma_8 = {}", table.path,
           table.column, table.rows, table.first_k, table.last_k,
           power ? fmt::format("rescaled from its sigma_8 = {:.5f}", sim::sigma8_of(table))
                 : "which has no sigma_8 of its own, scaled",
           target);
  const double share = sim::extrapolated_share(table, plan.base.n_s);
  if (share > kRemarkable) {
    log.warn(
        "{:.2f} % of sigma_8 squared lies beyond the ends of --transfer {}, where power laws continue it.",
        100 * share, table.path);
  }
}

Missing missing_universes(const core::Manifest& there, const sim::Plan& plan,
                          const core::SimulationManifest& suite) {
  std::set<std::string_view> made;
  for (const core::FileRecord& file : there.files) made.insert(file.path);
  Missing missing;
  for (const core::SimulationRecord& record : suite.simulations) {
    if (std::ranges::all_of(record.files(), [&](const auto& file) { return made.contains(file); })) continue;
    const bool own = record.index >= plan.slice.first && record.index < plan.slice.last;
    if (own) {
      missing.own.push_back(record);
    } else {
      ++missing.others;
    }
  }
  return missing;
}

/// Lets groups of ranks make universes in rounds of one universe per group. Collective.
void make_universes(const core::Invocation& run, core::OutputDirectory& output, const sim::Plan& plan,
                    const std::vector<core::SimulationRecord>& universes, int ranks_per_simulation) {
  const bool one = universes.size() == 1;
  core::Progress progress(run.log, one ? "steps" : "universes",
                          one ? plan.numerics.steps : static_cast<std::int64_t>(universes.size()));
  const core::Communicator group = run.comm.split(run.comm.rank() / ranks_per_simulation);
  std::vector<core::FileRecord> finished;
  core::in_rounds(
      run.comm, group, universes.size(),
      [&](std::size_t i) {
        sim::SimulationConfig config = plan.numerics;
        config.box_size = plan.box.mpc_h(universes[i].universe.cosmology.h);
        finished =
            sim::make_universe(group, output, config, universes[i], plan.grid, [&](const sim::Step& step) {
              if (one) progress.advance();
              if (step.a_next < 1) core::stop_if_asked(group);
            });
      },
      [&](std::size_t items) {
        output.record(finished);
        finished.clear();
        if (!one) progress.advance(static_cast<std::int64_t>(items));
      });
}

/// The k index at which the force mesh beats with the particles' lattice: for 64³ particles 20 Mpc/h apart,
/// meshes of 72 and 80 multiply P(k) by 5 and 14 there. Nothing if that is beyond what both resolve, as it is
/// for multiples of half the particles per side.
std::optional<int> beat(const sim::SimulationConfig& numerics) {
  const int particles = numerics.particles_per_side, mesh = numerics.mesh_per_side;
  const int index = std::abs(mesh - particles);
  return index > 0 && 2 * index < std::min(particles, mesh) ? std::optional(index) : std::nullopt;
}

void warn_of_lattice(const core::Log& log, const sim::Plan& plan) {
  if (const auto index = beat(plan.numerics)) {
    log.warn(
        "--mesh {} beats with the lattice of --particles {}: where they have hardly moved, P(k) has a spike "
        "at {} times the box's fundamental; use a --mesh of 1, 1.5, 2 or 3 times the particles.",
        plan.numerics.mesh_per_side, plan.numerics.particles_per_side, *index);
  }
  if (!plan.save_counts) return;
  const double spacing = plan.numerics.particle_grid().cell_size();
  const double today = sim::linear_power(plan.numerics).rms_displacement();
  const sim::Background background = sim::background_of(plan.numerics);
  std::vector<double> sparse;
  for (const double z : plan.numerics.redshifts) {
    if (spacing > kSparse * today * background.D1(1 / (1 + z))) sparse.push_back(z);
  }
  if (sparse.empty()) return;
  log.warn(
      "particles are {:.1f} Mpc/h apart and too few have left their voxels at z = {}: P(k) of the counts is "
      "wrong there, use more --particles or a smaller --box.",
      spacing, fmt::join(sparse, ", "));
}

/// Warns if fitted descent is used where its fit has not been tested (docs/cola.md).
void warn_of_fit(const core::Log& log, const sim::Plan& plan) {
  const sim::SimulationConfig& numerics = plan.numerics;
  if (numerics.descent.growth == 0) return;
  const bool beyond = numerics.f_nl != 0 || numerics.radiation ||
                      std::ranges::any_of(plan.universes, [](const core::Universe& universe) {
                        const core::Cosmology& at = universe.cosmology;
                        return at.omega_m < 0.25 || at.omega_m > 0.35 || at.sigma8 < 0.78 ||
                               at.sigma8 > 0.95 || at.w0 != -1 || at.wa != 0;
                      });
  if (beyond)
    log.warn(
        "--gradient-descent fitted has been tested for omega_m of 0.25 to 0.35, sigma8 of 0.78 to 0.95, w0 = -1, wa = 0, "
        "without --f-nl and --radiation: compare with a mesh of three times the --particles before relying on it here.");
}

/// How the ranks share this number of universes. Collective.
sim::RankLayout layout_for(const core::Invocation& run, const sim::Plan& plan, int universes) {
  const int threads = run.comm.max(run.threads);
  return sim::choose_layout(run.comm, plan.ranks_per_simulation, universes,
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
    slice = plan_.slice;
    explain_table(run.log, plan_);
  }

  core::Needs needs(const core::Manifest& there) override {
    layout_ = layout_for(run, plan_, plan_.universes_to_make());
    missing_ = missing_universes(there, plan_, suite_);
    const std::size_t universes = missing_.own.size();
    if (universes > 0) layout_ = layout_for_rest(run, plan_, universes, layout_);
    return {.memory = universes > 0 ? layout_.memory.per_rank : 0,  // finished universes need none
            .memory_cause = fmt::format("--particles {} with --mesh {}{} need",
                                        plan_.numerics.particles_per_side, plan_.numerics.mesh_per_side,
                                        plan_.save_counts ? fmt::format(" and --grid {}", plan_.grid) : ""),
            .memory_remedy = "choose fewer",
            .disk = sim::disk_of(plan_, plan_.universes.size()),
            .disk_missing = sim::disk_of(plan_, universes),
            .disk_cause = "The universes to make",
            .disk_remedy = "make room, or make or save less"};
  }

  core::Report outline() override {
    if (!missing_.own.empty()) {
      warn_of_lattice(run.log, plan_);
      warn_of_fit(run.log, plan_);
    }
    core::Report report{facts(), describe(plan_)};
    report.facts["ranks_per_simulation"] = layout_.ranks_per_simulation;
    report.facts["simulations_to_make"] = missing_.own.size();
    report.facts["simulations_left"] = missing_.others;
    report.facts["up_to_date"] = missing_.own.empty();
    const auto there = plan_.simulations - static_cast<std::int64_t>(missing_.own.size()) - missing_.others;
    if (there > 0 || missing_.others > 0) {
      report.text += fmt::format("{} of {} universes are there; to make: {}{}\n", there, plan_.simulations,
                                 missing_.own.size(), slice_text());
    }
    return report;
  }

  core::Report make(core::OutputDirectory& output) override {
    const core::Timer timer;
    const std::vector<core::SimulationRecord> missing =
        missing_universes(output.manifest(), plan_, suite_).own;
    if (!missing.empty()) {
      run.log.info("{} ranks x {} threads, {} per universe", run.comm.size(), run.threads,
                   layout_.ranks_per_simulation);
      make_universes(run, output, plan_, missing, layout_.ranks_per_simulation);
    }
    const bool all = output.finish_if_all(run.tool, run.facts);
    const std::int64_t left = all ? 0 : missing_universes(output.manifest(), plan_, suite_).others;
    core::Report report{
        {{"up_to_date", missing.empty()}, {"simulations_made", missing.size()}, {"simulations_left", left}},
        fmt::format("{} is up to date", target)};
    if (!missing.empty()) {
      const std::uint64_t peak = run.comm.max(core::peak_resident_memory());
      report.text =
          fmt::format("{}: {} universe{} in {}; at most {} of memory per rank, {} predicted", target,
                      missing.size(), missing.size() == 1 ? "" : "s", core::format_duration(timer.seconds()),
                      core::format_bytes(static_cast<double>(peak)),
                      core::format_bytes(static_cast<double>(layout_.memory.per_rank)));
    }
    if (left > 0)
      report.text += fmt::format("; {} of {} universes are left to other slices", left, plan_.simulations);
    report.text += "\n";
    return report;
  }

  Json found(const core::Manifest&) override {
    Json found = facts();
    found.update({{"simulations_to_make", 0}, {"simulations_made", 0}, {"simulations_left", 0}});
    return found;
  }

 private:
  Json facts() const {
    return {{"simulations", plan_.simulations},
            {"select", {plan_.slice.first, plan_.slice.first + plan_.universes_to_make()}}};
  }
  /// " of --select 1:5", or nothing if all universes are selected.
  std::string slice_text() const {
    const int selected = plan_.universes_to_make();
    return selected == plan_.simulations
               ? ""
               : fmt::format(" of --select {}:{}", plan_.slice.first, plan_.slice.first + selected);
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
