#include "dataset/tool/cosmo_prep_histogram.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "core/error.hpp"
#include "core/hdf5/foreign.hpp"
#include "core/output/manifest.hpp"
#include "core/parallel/stop_signals.hpp"
#include "core/run/stage.hpp"
#include "core/universe/facts.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "dataset/tool/cosmo_prep_snapshots.hpp"
#include "histogram/count_file.hpp"
#include "histogram/particles/gadget_snapshot.hpp"
#include "histogram/snapshot/counting_job.hpp"
#include "histogram/snapshot/snapshot_counts.hpp"
#include "histogram/snapshot/snapshot_table.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;
using core::Json;

namespace {

namespace fs = std::filesystem;

/// The snapshot, and the counts to make from it.
struct Job {
  histogram::WeighedSnapshot weighed;
  histogram::GadgetReading reading;
  histogram::CountFileHeader header;
  std::vector<std::string> assumed;  ///< parameters that neither the snapshot nor the user states
  core::Facts facts;                 ///< what both state

  const histogram::GadgetSnapshot& snapshot() const { return weighed.snapshot; }
  std::string counts_path() const { return core::counts_name(header.redshift); }
};

Job read_job(const core::Options& options, histogram::WeighedSnapshot weighed,
             const histogram::GadgetReading& reading) {
  Job job{std::move(weighed), reading, {}, {}, {}};
  histogram::SettledCosmology settled =
      histogram::settle_cosmology(histogram::stated_parameters(options), job.snapshot().parameters());
  job.assumed = std::move(settled.assumed);
  histogram::ensure_stated(reading, settled.unstated);
  const std::uint64_t seed = options.given("seed") ? options.seed("seed") : job.snapshot().seed().value_or(0);
  job.header = {{.universe = {seed, settled.cosmology},
                 .box_size = job.snapshot().box_size() / job.snapshot().units_per_mpc_h(),
                 .redshift = job.snapshot().redshift(),
                 .particles = job.weighed.counts(),
                 .line_of_sight = job.snapshot().line_of_sight()},
                histogram::read_grid(options)};
  job.facts = core::facts_of(job.header);
  for (const std::string& name : settled.unstated) job.facts.erase(name);
  return job;
}

/// What decides the counts, and details of the manifest.
Json details_of(const Job& job) {
  Json parameters;
  for (const core::CosmologyParameter& row : core::kCosmologyParameters)
    parameters[std::string(row.name)] = job.header.universe.cosmology.*row.member;
  Json details = {{"counts", job.counts_path()},       {"grid", job.header.cells_per_side},
                  {"box_mpc_h", job.header.box_size},  {"voxel_mpc_h", job.header.grid().cell_size()},
                  {"redshift", job.header.redshift},   {"seed", job.header.universe.seed},
                  {"particles", job.header.particles}, {"parameters", parameters},
                  {"parameters_assumed", job.assumed}};
  for (const auto& [name, stated] : job.snapshot().overridden())
    details["overridden"][name] = stated ? Json(*stated) : Json(nullptr);
  return details;
}

Json facts_of(const Job& job) {
  Json facts = details_of(job);
  facts["snapshot_files"] = job.snapshot().files().size();
  facts["units_per_mpc_h"] = job.snapshot().units_per_mpc_h();
  facts["not_counted"] = histogram::types_not_counted(job.snapshot());
  facts["coordinates"] = job.snapshot().float_bytes() == sizeof(double) ? "float64" : "float32";
  return facts;
}

std::string describe(const Job& job) {
  const double units = job.snapshot().units_per_mpc_h();
  const std::string unit = units == 1      ? "Mpc/h"
                           : units == 1000 ? "kpc/h"
                                           : fmt::format("{:.6g} Mpc/h", 1 / units);
  return fmt::format(
      "{} particles in {} file{}, {} in {}, box of {} Mpc/h at z = {}\ncounts      {}³ voxels of {:.6g} "
      "Mpc/h\n",
      job.header.particles, job.snapshot().files().size(), job.snapshot().files().size() == 1 ? "" : "s",
      job.snapshot().float_bytes() == sizeof(double) ? "float64" : "float32", unit, job.header.box_size,
      job.header.redshift, job.header.cells_per_side, job.header.grid().cell_size());
}

}  // namespace

void declare_histogram(core::Options& options) {
  options.add(
      "input FILE|DIR", std::nullopt,
      "snapshot in Gadget's HDF5 layout: its file, any of its files NAME.0.hdf5 …, or their directory; or a "
      "table (TABLE.csv, or another text) of the snapshots of a suite, for cosmo-prep shard: columns snapshot, parameters, optionally "
      "simulation and seed (docs/reference/formats.md)");
  options.add("grid N", std::nullopt, "voxels per side of the counts");
  histogram::declare_gadget_reading(options);
  const core::Cosmology defaults;
  for (const core::CosmologyParameter& row : core::kCosmologyParameters) {
    options.add(histogram::option_of(row.name) + " X", std::nullopt,
                fmt::format("{} [the snapshot's, else {}]", row.meaning, defaults.*row.member));
  }
  options.add("seed N", std::nullopt,
              "seed of the initial conditions of a single snapshot, for the record [the snapshot's, else 0]");
}

std::vector<fs::path> histogram_files(const core::Options& options) {
  const fs::path input = options.text("input");
  if (!histogram::is_snapshot_table(input)) return core::hdf5_files_at(input);
  std::vector<fs::path> files;
  for (const histogram::SnapshotRow& row : histogram::read_snapshot_table(input).rows)
    std::ranges::copy(core::hdf5_files_at(row.snapshot), std::back_inserter(files));
  return files;
}

namespace {

class HistogramStage : public core::Stage {
 public:
  explicit HistogramStage(const core::Invocation& invocation) : Stage(invocation), job_(read(run)) {
    request = {"histogram", details_of(job_), {}};
    histogram::identify(job_.reading, request.config);
    request.config["units_per_mpc_h"] = job_.snapshot().units_per_mpc_h();
    std::vector<std::string> files;
    for (const fs::path& file : job_.snapshot().files()) files.push_back(file.string());
    histogram::add_inputs(run, files, target, request);
    run.comm.agree([&] { refuse_copies(request.inputs); });
    histogram::warn_of_assumptions(run.log, job_.assumed,
                                   "the snapshot does not state all parameters of its universe");
    histogram::warn_of(run.log, run.options.text("input"),
                       histogram::remarks_on(job_.weighed, job_.header.universe.cosmology));
    if (!job_.weighed.masses.all)
      run.log.info("the masses of all particles are not stated: their density is not compared with omega_m");
    if (const std::string others = histogram::types_not_counted(job_.snapshot()); !others.empty())
      run.log.info("not counted: {}; --particle-type takes several", others);
  }

  core::Needs needs(const core::Manifest&) override {
    const histogram::CountFileHeader& header = job_.header;
    core::Needs needs = histogram::needs_of(
        header.cells_per_side,
        histogram::counting_memory(header.grid(), job_.snapshot().particles(), job_.snapshot().float_bytes(),
                                   run.comm.size(), run.threads, job_.weighed.unit.has_value()));
    needs.disk = needs.disk_missing = header.grid().cells() * sizeof(std::uint16_t);
    return needs;
  }

  core::Report outline() override { return {facts_of(job_), describe(job_)}; }

  core::Report make(core::OutputDirectory& output) override {
    core::obey_stop_signals();  // a single file has no finished part to keep
    const std::string path = job_.counts_path();
    if (output.find(path) == nullptr) {
      std::optional<core::Progress> progress;
      const histogram::CountingResult result = histogram::count_snapshot(
          run.comm, output, path, job_.weighed, job_.header, [&](std::int64_t rounds) {
            if (!progress) progress.emplace(run.log, "rounds of reading", rounds);
            progress->advance();
          });
      output.record(result.records);
      if (result.seen.wrapped > 0)
        run.log.info("{} particles outside the periodic box were put into it", result.seen.wrapped);
      histogram::warn_of(run.log, run.options.text("input"),
                         histogram::remarks_on(result, job_.weighed.snapshot));
    }
    Json details = details_of(job_);
    core::write_facts(details, job_.facts);
    output.finish(run.tool, details, run.facts);
    return {facts_of(job_), fmt::format("{}/{}: {}", target, path, describe(job_))};
  }

  core::Report found(const core::Manifest&) override { return {facts_of(job_), ""}; }

 private:
  static Job read(const core::Invocation& run) {
    fs::path input;
    histogram::GadgetReading reading;
    run.comm.agree([&] {
      input = run.options.text("input");
      if (run.comm.is_root() && fs::is_regular_file(input)) core::check_in_suite(input);
      reading = histogram::read_gadget_reading(run.options);
    });
    histogram::WeighedSnapshot weighed = histogram::open_snapshot(run.comm, input, reading);
    std::optional<Job> job;
    run.comm.agree([&] { job.emplace(read_job(run.options, std::move(weighed), reading)); });
    return std::move(*job);
  }

  /// Throws Error{config} if two files of the snapshot that have particles are the same.
  void refuse_copies(const std::vector<core::InputRecord>& inputs) const {
    std::set<fs::path> with_particles;
    for (const histogram::ParticleSet& set : job_.snapshot().counted()) with_particles.insert(set.path);
    std::vector<core::InputRecord> parts;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (with_particles.contains(job_.snapshot().files()[i])) parts.push_back(inputs[i]);
    }
    histogram::refuse_same_content(parts, "they are to be parts of one snapshot, copy the right file there");
  }

  Job job_;
};

}  // namespace

void run_histogram(const core::Invocation& run) {
  fs::path input;
  run.comm.agree([&] { input = run.options.text("input"); });
  if (histogram::is_snapshot_table(input)) return run_histogram_of_table(run);
  HistogramStage stage(run);
  core::run_stage(stage);
}

}  // namespace cosmo::dataset
