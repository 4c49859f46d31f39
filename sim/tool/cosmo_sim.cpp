// cosmo-sim: universes from cosmological parameters.

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/fourier/fourier_mesh.hpp"
#include "core/memory.hpp"
#include "core/output/disk_bill.hpp"
#include "core/output/output_directory.hpp"
#include "core/parallel/rounds.hpp"
#include "core/parallel/stop_signals.hpp"
#include "core/run/tool.hpp"
#include "core/timer.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "sim/linear/background.hpp"
#include "sim/linear/linear_power.hpp"
#include "sim/simulation.hpp"
#include "sim/suite/rank_layout.hpp"
#include "sim/tool/cosmo_sim_inspect.hpp"
#include "sim/tool/suite_plan.hpp"
#include "sim/tool/universe.hpp"

namespace {

using namespace cosmo;
using core::Fault;
using core::Json;

/// Particles further apart than so many rms displacements have often not left the voxel in which they
/// started: P(k) of the counts is right to 2 % here, 5 % too low at 1.9 and 15 % at 2.4.
constexpr double kSparse = 1.7;

/// The universes that are not there.
struct Missing {
  std::vector<core::SimulationRecord> own;  ///< of the plan's slice
  std::int64_t others = 0;
};

/// What is known before a directory is touched.
struct Survey {
  bool blocked = false;       ///< by what is in the directory
  std::uint64_t leaving = 0;  ///< bytes there that the run removes
  Missing missing;
  sim::RankLayout layout;
  core::DiskBill disk;
  std::vector<core::Error> refusals;  ///< of which a dry run warns; the first ends a real one, on all ranks
};

Json summary_of(const sim::Plan& plan, const core::Request& request, const Survey& survey) {
  const sim::RankLayout& layout = survey.layout;
  return {{"output", plan.output},
          {"id", request.id()},
          {"simulations", plan.simulations},
          {"select", {plan.slice.first, plan.slice.first + plan.universes_to_make()}},
          {"up_to_date", survey.missing.own.empty()},
          {"simulations_left", survey.missing.others},
          {"ranks_per_simulation", layout.ranks_per_simulation},
          {"memory_bytes_per_rank", layout.memory.per_rank},
          {"memory_bytes_per_node", layout.memory.per_node},
          {"memory_available_bytes", layout.memory.available},
          {"disk_bytes", sim::disk_of(plan, plan.universes.size())},
          {"disk_bytes_to_write", survey.disk.needed},
          {"disk_bytes_to_remove", survey.leaving},
          {"disk_available_bytes", survey.disk.available}};
}

/// "counts on 128³ voxels and particles at z = 0, 0.5".
std::string contents(const sim::Plan& plan) {
  std::string text = plan.save_counts ? fmt::format("counts on {}³ voxels", plan.grid) : "";
  if (plan.save_particles) text += text.empty() ? "particles" : " and particles";
  return fmt::format("{} at z = {}", text, fmt::join(plan.numerics.redshifts, ", "));
}

std::string describe(const sim::Plan& plan, const Json& summary) {
  const sim::SimulationConfig& numerics = plan.numerics;
  return fmt::format(
      "{} universe{} of {}³ particles in {} {}, force mesh {}³, {} steps from z = {}, {}; "
      "about {} of memory a rank, {} on disk",
      plan.simulations, plan.simulations == 1 ? "" : "s", numerics.particles_per_side, plan.box.value,
      name_of(plan.box.unit), numerics.mesh_per_side, numerics.steps, numerics.z_initial, contents(plan),
      core::format_bytes(summary.at("memory_bytes_per_rank").get<double>()),
      core::format_bytes(summary.at("disk_bytes").get<double>()));
}

/// Says what was read from a table of the spectrum and what becomes of it.
void explain_table(const core::Log& log, const sim::Plan& plan) {
  if (!plan.numerics.table) return;
  constexpr double kRemarkable = 1e-3;
  const sim::SpectrumTable& table = *plan.numerics.table;
  const bool power = table.kind == sim::SpectrumTable::Kind::power;
  const auto sigma8 = std::ranges::find(plan.varying, "sigma8", &sim::VaryingParameter::name);
  const std::string target = sigma8 == plan.varying.end()
                                 ? fmt::format("{}", plan.base.sigma8)
                                 : fmt::format("{} to {}", sigma8->low, sigma8->high);
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

std::string memory_shortage(const sim::Plan& plan, const core::MemoryBill& memory) {
  const std::string counts = plan.save_counts ? fmt::format(" and --grid {}", plan.grid) : "";
  return fmt::format(
      "--particles {} with --mesh {}{} need about {} of memory on a node that has {} available: choose "
      "fewer, "
      "or use more nodes.",
      plan.numerics.particles_per_side, plan.numerics.mesh_per_side, counts,
      core::format_bytes(static_cast<double>(memory.per_node)),
      core::format_bytes(static_cast<double>(memory.available)));
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

/// Lets groups of ranks make universes, a round of one a group at a time. Collective.
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
        config.box_size = plan.box.mpc_h(universes[i].cosmology.h);
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

/// k index at which the force mesh beats with the particles' lattice: of 64³ particles 20 Mpc/h apart, meshes
/// of 72 and 80 multiply P(k) by 5 and 14 there. Nothing if that is beyond what both resolve, which it is for
/// multiples of half the particles.
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
  const sim::Background background(plan.base);
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

/// Writes the manifest if every universe is there; returns how many are not. Collective.
std::int64_t finish(const core::Invocation& run, core::OutputDirectory& output, const sim::Plan& plan,
                    const core::SimulationManifest& suite) {
  if (output.up_to_date() || output.finish_if_all(run.tool, run.facts)) return 0;
  return missing_universes(output.manifest(), plan, suite).others;
}

/// The last word of a run that made `made` universes and leaves `left` to other slices.
std::string conclusion(const sim::Plan& plan, const Json& summary, std::size_t made, std::int64_t left) {
  std::string text = fmt::format("{} is up to date", plan.output);
  if (made > 0) {
    text = fmt::format("{}: {} universe{} in {}; at most {} of memory a rank, {} predicted", plan.output,
                       made, made == 1 ? "" : "s", core::format_duration(summary.at("seconds")),
                       core::format_bytes(summary.at("peak_rss_bytes")),
                       core::format_bytes(summary.at("memory_bytes_per_rank")));
  }
  if (left > 0) text += fmt::format("; {} of {} universes are left to other slices", left, plan.simulations);
  return text + "\n";
}

/// How the ranks share so many universes. Collective.
sim::RankLayout layout_for(const core::Invocation& run, const sim::Plan& plan, int universes) {
  const int threads = run.comm.max(run.threads);
  return sim::choose_layout(run.comm, plan.ranks_per_simulation, universes,
                            [&](int ranks) { return sim::memory_of(plan, ranks, threads); });
}

/// How the ranks share the few universes that an earlier run left: `planned`, as for all of them, if larger
/// groups that leave nobody idle cannot be. Collective.
sim::RankLayout layout_for_rest(const core::Invocation& run, const sim::Plan& plan, std::size_t universes,
                                const sim::RankLayout& planned) {
  try {
    return layout_for(run, plan, static_cast<int>(universes));
  } catch (const core::Error& error) {
    if (!error.agreed()) throw;
    return planned;
  }
}

Survey make_survey(const core::Invocation& run, const sim::Plan& plan, const core::Request& request,
                   const core::SimulationManifest& suite, const core::Overwrite& overwrite) {
  Survey survey;
  survey.layout = layout_for(run, plan, plan.universes_to_make());
  core::Holding holding;
  try {
    holding = core::OutputDirectory::look(run.comm, plan.output, request, overwrite);
    survey.leaving = holding.leaving;
  } catch (const core::Error& error) {
    if (!error.agreed()) throw;
    survey.blocked = true;
    survey.refusals.push_back(error);
  }
  survey.missing = missing_universes(holding.manifest, plan, suite);
  const std::size_t universes = survey.missing.own.size();
  survey.disk = core::disk_bill(run.comm, plan.output, sim::disk_of(plan, universes), survey.leaving);
  if (universes == 0) return survey;  // what is finished needs no memory
  survey.layout = layout_for_rest(run, plan, universes, survey.layout);
  if (!survey.layout.memory.is_covered())
    survey.refusals.emplace_back(Fault::config, memory_shortage(plan, survey.layout.memory), true);
  if (!survey.disk.is_covered()) {
    survey.refusals.push_back(core::disk_shortage(survey.disk, plan.output, "The universes to make",
                                                  "make room, or make or save less"));
  }
  return survey;
}

/// "sim: 2 of 6 universes are there; to make: 3 of --select 1:5, 1.20 MB of 77.00 GB free on disk".
std::string describe(const sim::Plan& plan, const Survey& survey) {
  const std::size_t to_make = survey.missing.own.size();
  const std::int64_t there = plan.simulations - static_cast<std::int64_t>(to_make) - survey.missing.others;
  const std::string held = survey.blocked              ? "what is there is in the way"
                           : there == plan.simulations ? "up to date"
                           : there > 0 ? fmt::format("{} of {} universes are there", there, plan.simulations)
                           : survey.leaving > 0 ? "what is there will be removed"
                                                : "nothing is there";
  const int selected = plan.universes_to_make();
  const std::string slice = selected == plan.simulations ? ""
                                                         : fmt::format(" of --select {}:{}", plan.slice.first,
                                                                       plan.slice.first + selected);
  return fmt::format("{}: {}; to make: {}{}, {} of {} free on disk", plan.output, held, to_make, slice,
                     core::format_bytes(static_cast<double>(survey.disk.needed)),
                     core::format_bytes(static_cast<double>(survey.disk.available)));
}

/// The outcome of a dry run.
void report_plan(const core::Invocation& run, const sim::Plan& plan, const Survey& survey, Json summary) {
  summary["simulations_to_make"] = survey.missing.own.size();
  summary["refusals"] = Json::array();
  for (const core::Error& refusal : survey.refusals) {
    run.log.warn("{}", refusal.what());
    summary["refusals"].push_back(refusal.what());
  }
  if (!survey.missing.own.empty()) warn_of_lattice(run.log, plan);
  run.report(summary, describe(plan, summary) + "\n" + describe(plan, survey) + "\n");
}

void run_generate(const core::Invocation& run) {
  const core::Timer timer;
  sim::Plan plan;
  run.comm.agree([&] { plan = sim::read_plan(run.options); });
  core::Request request = sim::request_of(plan);
  const core::SimulationManifest suite = sim::suite_of(plan);
  request.foreseen = suite.foreseen();
  const core::Overwrite overwrite{run.options.flag("force"), {}};
  const Survey survey = make_survey(run, plan, request, suite, overwrite);
  explain_table(run.log, plan);
  Json summary = summary_of(plan, request, survey);
  if (run.options.flag("dry-run")) return report_plan(run, plan, survey, summary);
  if (!survey.refusals.empty()) throw survey.refusals.front();

  core::OutputDirectory output(run.comm, run.log, plan.output, request, overwrite, plan.slice);
  const std::vector<core::SimulationRecord> missing = missing_universes(output.manifest(), plan, suite).own;
  if (!missing.empty()) {
    warn_of_lattice(run.log, plan);
    run.log.info("{}; {} ranks x {} threads, {} a universe", describe(plan, summary), run.comm.size(),
                 run.threads, survey.layout.ranks_per_simulation);
    make_universes(run, output, plan, missing, survey.layout.ranks_per_simulation);
  }
  const std::int64_t left = finish(run, output, plan, suite);
  summary["up_to_date"] = missing.empty();
  summary["simulations_made"] = missing.size();
  summary["simulations_left"] = left;
  summary["peak_rss_bytes"] = run.comm.max(core::peak_resident_memory());
  summary["seconds"] = timer.seconds();
  run.report(summary, conclusion(plan, summary, missing.size(), left));
}

}  // namespace

int main(int argc, char** argv) {
  return core::run_tool(
      argc, argv,
      {"cosmo-sim",
       "universes from cosmological parameters",
       {fourier::library_version()},
       {{"generate", "simulates one universe or a suite and counts its particles in voxels",
         "mpirun -n 2 cosmo-sim generate --simulations 64 --omega-m 0.25:0.35 --sigma8 "
         "0.78:0.95 --n-s 0.9:1.0 "
         "--particles 128 --output sim",
         true, core::OnStop::save, &sim::declare_suite, &run_generate},
        {"inspect", "checks a snapshot or counts file and prints what it holds, with its P(k)",
         "cosmo-sim inspect sim/sim-00000/counts_z0.h5 --png slice.png", false, core::OnStop::end,
         &sim::declare_inspect, &sim::run_inspect, &sim::inspected_files}}});
}
