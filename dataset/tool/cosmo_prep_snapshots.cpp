#include "dataset/tool/cosmo_prep_snapshots.hpp"

#include <algorithm>

#include "core/run/stage.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "histogram/count_file.hpp"
#include "histogram/particles/gadget_snapshot.hpp"
#include "histogram/phases/suite_phases.hpp"
#include "histogram/snapshot/counting_job.hpp"
#include "histogram/snapshot/snapshot_counts.hpp"
#include "histogram/snapshot/snapshot_table.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;
using core::Json;

namespace {

/// The most that a rank allocates for one snapshot of a suite. [bytes]
std::uint64_t memory_of(const histogram::SnapshotSuite& suite, int threads) {
  std::uint64_t most = 0;
  for (const histogram::PlannedCounts& counts : suite.counts) {
    const histogram::CountFileHeader& header = counts.header;
    most = std::max(
        most, histogram::counting_memory(header.grid(), header.particles, counts.float_bytes, 1, threads));
  }
  return most;
}

/// Size of the counts that are not among the `existing` files. [bytes]
std::uint64_t disk_of(const histogram::SnapshotSuite& suite, const core::Manifest& existing) {
  std::uint64_t bytes = 0;
  for (const histogram::PlannedCounts& counts : suite.counts) {
    if (existing.find(counts.path) == nullptr) bytes += counts.header.grid().cells() * sizeof(std::uint16_t);
  }
  return bytes;
}

Json facts_of(const histogram::SnapshotSuite& suite) {
  Json facts = {{"simulations", suite.manifest.simulations.size()},
                {"snapshots", suite.counts.size()},
                {"snapshot_files", suite.files.size()},
                {"parameters", suite.manifest.parameters},
                {"parameters_assumed", suite.assumed},
                {"grid", suite.manifest.grid},
                {"particles", suite.counts.front().header.particles}};
  core::write_length(facts, "box", suite.manifest.box_size);
  return facts;
}

std::string describe(const histogram::SnapshotSuite& suite) {
  const core::SimulationManifest& manifest = suite.manifest;
  std::string text = fmt::format("{} universes, {} snapshots in {} files, {} particles in a box of {} {}\n",
                                 manifest.simulations.size(), suite.counts.size(), suite.files.size(),
                                 suite.counts.front().header.particles, manifest.box_size.value,
                                 name_of(manifest.box_size.unit));
  for (std::size_t p = 0; p < manifest.parameters.size(); ++p) {
    text += fmt::format("{:<11} {:g} to {:g}\n", manifest.parameters.names[p], manifest.parameters.low[p],
                        manifest.parameters.high[p]);
  }
  return text + fmt::format("counts      {}³ voxels\n", manifest.grid);
}

/// Reads the table and its snapshots. Collective.
histogram::SnapshotSuite read_suite(const core::Invocation& run, const histogram::GadgetReading& reading) {
  histogram::SnapshotTable table;
  run.comm.agree([&] {
    ensure(!run.options.given("seed"), Fault::config,
           "--seed applies to a single snapshot: give the table a column seed.");
    table = histogram::read_snapshot_table(run.options.text("input"));
  });
  if (!table.unused.empty())
    run.log.warn("{}: columns that are not used: {}.", run.options.text("input"),
                 fmt::join(table.unused, ", "));
  const std::vector<histogram::SnapshotFacts> facts =
      histogram::survey_snapshots(run.comm, run.log, table.rows, reading);
  histogram::SnapshotSuite suite;
  run.comm.agree([&] {
    suite = histogram::plan_snapshot_suite(table.rows, facts, histogram::stated_parameters(run.options),
                                           histogram::read_grid(run.options));
    histogram::ensure_stated(reading, suite.unstated);
  });
  return suite;
}

class SnapshotSuiteStage : public core::Stage {
 public:
  explicit SnapshotSuiteStage(const core::Invocation& invocation) : Stage(invocation) {
    run.comm.agree([&] { reading_ = histogram::read_gadget_reading(run.options); });
    suite_ = read_suite(run, reading_);
    histogram::warn_of_assumptions(run.log, suite_.assumed,
                                   "table and snapshots do not state all parameters of the universes");
    histogram::warn_of(run.log, suite_.remarks);
    if (suite_.manifest.seeds_assumed)
      run.log.warn(
          "{} has no seed for some universes, whose phases are taken to be their own: add a column seed if they are "
          "known; their content is compared.",
          run.options.text("input"));
    if (!suite_.others.empty()) run.log.info("not counted, as of the first snapshot: {}", suite_.others);
    request = {"generate",
               {{"from", "snapshots"}, {"grid", suite_.manifest.grid}, {"universes_sha256", suite_.sha256}},
               {},
               suite_.manifest.foreseen()};
    histogram::identify(reading_, request.config);
    histogram::add_inputs(run, suite_.files, target, request);
    run.comm.agree(
        [&] { histogram::refuse_same_content(request.inputs, "list each snapshot of the table once"); });
  }

  core::Needs needs(const core::Manifest& existing) override {
    core::Needs needs = histogram::needs_of(suite_.manifest.grid, memory_of(suite_, run.threads));
    needs.disk = disk_of(suite_, {});
    needs.disk_missing = disk_of(suite_, existing);
    return needs;
  }

  core::Report outline() override { return {facts_of(suite_), describe(suite_)}; }

  core::Report make(core::OutputDirectory& output) override {
    histogram::count_suite(run.comm, run.log, output, suite_, reading_);
    if (suite_.manifest.seeds_assumed)
      histogram::warn_of_phases(run.comm, run.log, output.path(), suite_.manifest);
    output.finish_if_all(run.tool, run.facts);
    return {facts_of(suite_), fmt::format("{}: {}", target, describe(suite_))};
  }

  core::Report found(const core::Manifest&) override { return {facts_of(suite_), ""}; }

 private:
  histogram::GadgetReading reading_;
  histogram::SnapshotSuite suite_;
};

}  // namespace

void run_histogram_of_table(const core::Invocation& run) {
  SnapshotSuiteStage stage(run);
  core::run_stage(stage);
}

}  // namespace cosmo::dataset
