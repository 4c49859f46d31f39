#include "dataset/tool/cosmo_prep_histogram.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/error.hpp"
#include "core/format/foreign_hdf5.hpp"
#include "core/memory.hpp"
#include "core/output/manifest.hpp"
#include "core/output/output_directory.hpp"
#include "core/parallel/stop_signals.hpp"
#include "core/timer.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "dataset/tool/cosmo_prep_snapshots.hpp"
#include "histogram/count_file.hpp"
#include "histogram/snapshot/counting_job.hpp"
#include "histogram/snapshot/gadget_snapshot.hpp"
#include "histogram/snapshot/snapshot_counts.hpp"
#include "histogram/snapshot/snapshot_table.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;
using core::Json;

namespace {

namespace fs = std::filesystem;

/// What is asked for, and of what.
struct Job {
  GadgetSnapshot snapshot;
  GadgetReading reading;
  histogram::CountFileHeader header;
  std::vector<std::string> assumed;  ///< parameters that neither the snapshot nor the user states

  std::string counts_path() const { return core::counts_name(header.redshift); }
};

Job read_job(const core::Options& options) {
  const GadgetReading reading = read_gadget_reading(options);
  Job job{GadgetSnapshot(options.text("input"), reading), reading, {}, {}};
  SettledCosmology settled = settle_cosmology(stated_parameters(options), job.snapshot.parameters());
  job.assumed = std::move(settled.assumed);
  job.header = {.grid = {read_grid(options), job.snapshot.box_size() / job.snapshot.units_per_mpc_h()},
                .redshift = job.snapshot.redshift(),
                .seed = options.given("seed") ? options.seed("seed") : job.snapshot.seed().value_or(0),
                .cosmology = settled.cosmology,
                .particles = job.snapshot.particles()};
  return job;
}

/// Details of the manifest, also of what is not made yet.
Json details_of(const Job& job) {
  Json parameters;
  for (const core::CosmologyParameter& row : core::kCosmologyParameters)
    parameters[std::string(row.name)] = job.header.cosmology.*row.member;
  return {{"counts", job.counts_path()},           {"grid", job.header.grid.cells_per_side},
          {"box_mpc_h", job.header.grid.box_size}, {"voxel_mpc_h", job.header.grid.cell_size()},
          {"redshift", job.header.redshift},       {"seed", job.header.seed},
          {"particles", job.header.particles},     {"parameters", parameters},
          {"parameters_assumed", job.assumed}};
}

/// Collective.
core::Request request_of(const core::Invocation& run, const Job& job, const std::string& target) {
  core::Request request{"histogram", details_of(job), {}};
  request.config["particle_type"] = job.reading.particle_type;
  request.config["units_per_mpc_h"] = job.snapshot.units_per_mpc_h();
  std::vector<std::string> files;
  for (const GadgetFile& file : job.snapshot.files()) files.push_back(file.path.string());
  add_inputs(run, files, target, request);
  return request;
}

Json summary_of(const Job& job, const CountingBill& bill, const std::string& target) {
  Json summary = details_of(job);
  summary["output"] = target;
  summary["snapshot_files"] = job.snapshot.files().size();
  summary["units_per_mpc_h"] = job.snapshot.units_per_mpc_h();
  summary["coordinates"] = job.snapshot.float_bytes() == sizeof(double) ? "float64" : "float32";
  summary["memory_bytes_per_rank"] = bill.memory.per_rank;
  summary["disk_bytes"] = bill.disk.needed;
  return summary;
}

std::string describe(const Job& job, const CountingBill& bill) {
  const double units = job.snapshot.units_per_mpc_h();
  const std::string unit = units == 1      ? "Mpc/h"
                           : units == 1000 ? "kpc/h"
                                           : fmt::format("{:.6g} Mpc/h", 1 / units);
  return fmt::format(
      "{} particles in {} file{}, {} in {}, box of {} Mpc/h at z = {}\ncounts      {}³ voxels of {:.6g} "
      "Mpc/h\nmemory      {} a rank\ndisk        {}\n",
      job.header.particles, job.snapshot.files().size(), job.snapshot.files().size() == 1 ? "" : "s",
      job.snapshot.float_bytes() == sizeof(double) ? "float64" : "float32", unit, job.header.grid.box_size,
      job.header.redshift, job.header.grid.cells_per_side, job.header.grid.cell_size(),
      core::format_bytes(static_cast<double>(bill.memory.per_rank)),
      core::format_bytes(static_cast<double>(bill.disk.needed)));
}

/// Collective.
void write(const core::Invocation& run, const Job& job, core::OutputDirectory& output) {
  const std::string path = job.counts_path();
  if (output.find(path) == nullptr) {
    std::optional<core::Progress> progress;
    output.record(count_snapshot(run.comm, output, path, job.snapshot, job.header, [&](std::int64_t rounds) {
      if (!progress) progress.emplace(run.log, "rounds of reading", rounds);
      progress->advance();
    }));
  }
  output.finish(run.tool, details_of(job), run.facts);
}

}  // namespace

void declare_histogram(core::Options& options) {
  options.add(
      "input", std::nullopt,
      "snapshot in Gadget's HDF5 layout: its file, any of its files NAME.0.hdf5 …, or their directory; or a "
      "TABLE.csv of the snapshots of a suite, for cosmo-prep shard: columns snapshot, parameters, perhaps "
      "simulation and seed (docs/formats.md)");
  options.add("grid", std::nullopt, "voxels a side of the counts");
  declare_gadget_reading(options);
  const core::Cosmology defaults;
  for (const core::CosmologyParameter& row : core::kCosmologyParameters) {
    options.add(option_of(row.name), std::nullopt,
                fmt::format("{} [as the snapshot says, else {}]", row.meaning, defaults.*row.member));
  }
  options.add("seed", std::nullopt,
              "of the initial conditions, for the record, of one snapshot [as the snapshot says, else 0]");
}

std::vector<fs::path> histogram_files(const core::Options& options) {
  const fs::path input = options.text("input");
  if (input.extension() != ".csv") return core::hdf5_files_at(input);
  std::vector<fs::path> files;
  for (const SnapshotRow& row : read_snapshot_table(input))
    std::ranges::copy(core::hdf5_files_at(row.snapshot), std::back_inserter(files));
  return files;
}

void run_histogram(const core::Invocation& run) {
  const core::Timer timer;
  std::optional<Job> job;
  std::string target;
  fs::path input;
  run.comm.agree([&] {
    target = run.options.text("output");
    input = run.options.text("input");
  });
  if (input.extension() == ".csv") return run_histogram_of_table(run, target);
  run.comm.agree([&] {
    if (run.comm.is_root() && fs::is_regular_file(input)) core::check_in_suite(input);
    job.emplace(read_job(run.options));
  });
  const histogram::CountFileHeader& header = job->header;
  const CountingBill bill =
      bill_of(run, target,
              counting_memory(header.grid, header.particles, job->snapshot.float_bytes(), run.comm.size(),
                              run.threads),
              header.grid.cells() * sizeof(std::uint16_t));
  const std::optional<core::Error> refused = refusal(header.grid.cells_per_side, bill, target);
  Json summary = summary_of(*job, bill, target);
  warn_of_assumptions(run.log, job->assumed, "the snapshot does not state all parameters of its universe");
  if (run.options.flag("dry-run")) {
    summary["dry_run"] = true;
    if (refused) run.log.warn("{}", refused->what());
    return run.report(summary, describe(*job, bill));
  }
  const core::Request request = request_of(run, *job, target);
  core::OutputDirectory output(run.comm, run.log, target, request, {run.options.flag("force"), {}});
  const bool up_to_date = output.up_to_date();
  if (!up_to_date) {
    if (refused) throw *refused;
    core::obey_stop_signals();  // one file has no part to keep
    write(run, *job, output);
  }
  summary["id"] = request.id();
  summary["up_to_date"] = up_to_date;
  summary["peak_rss_bytes"] = run.comm.max(core::peak_resident_memory());
  summary["seconds"] = timer.seconds();
  run.report(summary, up_to_date
                          ? fmt::format("{} is up to date\n", target)
                          : fmt::format("{}/{}: {}", target, job->counts_path(), describe(*job, bill)));
}

}  // namespace cosmo::dataset
