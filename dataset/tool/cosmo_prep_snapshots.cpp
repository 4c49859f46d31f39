#include "dataset/tool/cosmo_prep_snapshots.hpp"

#include <algorithm>
#include <map>

#include "core/memory.hpp"
#include "core/output/output_directory.hpp"
#include "core/timer.hpp"
#include "core/universe/simulation_manifest.hpp"
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

/// Throws Error{config} if two files have the same content: splits might share their universe.
void refuse_twins(const std::vector<core::InputRecord>& inputs) {
  std::map<std::string, std::string> path_of;
  for (const core::InputRecord& input : inputs) {
    const auto [twin, fresh] = path_of.emplace(input.sha256, input.path);
    ensure(fresh, Fault::config,
           "{} and {} of the table, as seen from --output, have the same content: list each snapshot once.",
           twin->second, input.path);
  }
}

/// What a rank allocates for its snapshot of a suite, at most. [bytes]
std::uint64_t memory_of(const SnapshotSuite& suite, int threads) {
  std::uint64_t most = 0;
  for (const PlannedCounts& counts : suite.counts) {
    const histogram::CountFileHeader& header = counts.header;
    most = std::max(most, counting_memory(header.grid, header.particles, counts.float_bytes, 1, threads));
  }
  return most;
}

/// Of the counts that are not among `there`. [bytes]
std::uint64_t disk_of(const SnapshotSuite& suite, const core::Manifest& there) {
  std::uint64_t bytes = 0;
  for (const PlannedCounts& counts : suite.counts) {
    if (there.find(counts.path) == nullptr) bytes += counts.header.grid.cells() * sizeof(std::uint16_t);
  }
  return bytes;
}

Json summary_of(const SnapshotSuite& suite, const CountingBill& bill, const std::string& target) {
  Json summary = {{"output", target},
                  {"simulations", suite.manifest.simulations.size()},
                  {"snapshots", suite.counts.size()},
                  {"snapshot_files", suite.files.size()},
                  {"parameters", suite.manifest.parameters},
                  {"parameters_assumed", suite.assumed},
                  {"grid", suite.manifest.grid},
                  {"particles", suite.counts.front().header.particles},
                  {"memory_bytes_per_rank", bill.memory.per_rank},
                  {"disk_bytes", disk_of(suite, {})},
                  {"disk_bytes_to_write", bill.disk.needed}};
  core::write_length(summary, "box", suite.manifest.box_size);
  return summary;
}

std::string describe(const SnapshotSuite& suite, const CountingBill& bill) {
  const core::SimulationManifest& manifest = suite.manifest;
  std::string text = fmt::format("{} universes, {} snapshots in {} files, {} particles in a box of {} {}\n",
                                 manifest.simulations.size(), suite.counts.size(), suite.files.size(),
                                 suite.counts.front().header.particles, manifest.box_size.value,
                                 name_of(manifest.box_size.unit));
  for (std::size_t p = 0; p < manifest.parameters.size(); ++p) {
    text += fmt::format("{:<11} {:g} to {:g}\n", manifest.parameters.names[p], manifest.parameters.low[p],
                        manifest.parameters.high[p]);
  }
  return text + fmt::format("counts      {}³ voxels\nmemory      {} a rank\ndisk        {}\n", manifest.grid,
                            core::format_bytes(static_cast<double>(bill.memory.per_rank)),
                            core::format_bytes(static_cast<double>(disk_of(suite, {}))));
}

/// Collective.
SnapshotSuite read_suite(const core::Invocation& run, const GadgetReading& reading) {
  std::vector<SnapshotRow> table;
  run.comm.agree([&] {
    ensure(!run.options.given("seed"), Fault::config,
           "--seed is of one snapshot: give the table a column seed.");
    table = read_snapshot_table(run.options.text("input"));
  });
  const std::vector<SnapshotFacts> facts = survey_snapshots(run.comm, run.log, table, reading);
  SnapshotSuite suite;
  run.comm.agree([&] {
    suite = plan_snapshot_suite(table, facts, stated_parameters(run.options), read_grid(run.options));
  });
  return suite;
}

}  // namespace

void run_histogram_of_table(const core::Invocation& run, const std::string& target) {
  const core::Timer timer;
  GadgetReading reading;
  run.comm.agree([&] { reading = read_gadget_reading(run.options); });
  const SnapshotSuite suite = read_suite(run, reading);
  warn_of_assumptions(run.log, suite.assumed,
                      "table and snapshots do not state all parameters of the universes");
  const std::uint64_t memory = memory_of(suite, run.threads);
  if (run.options.flag("dry-run")) {
    const CountingBill bill = bill_of(run, target, memory, disk_of(suite, {}));
    if (const auto refused = refusal(suite.manifest.grid, bill, target)) run.log.warn("{}", refused->what());
    Json summary = summary_of(suite, bill, target);
    summary["dry_run"] = true;
    return run.report(summary, describe(suite, bill));
  }
  core::Request request{"generate",
                        {{"from", "snapshots"},
                         {"grid", suite.manifest.grid},
                         {"particle_type", reading.particle_type},
                         {"universes_sha256", suite.sha256}},
                        {},
                        suite.manifest.foreseen()};
  add_inputs(run, suite.files, target, request);
  run.comm.agree([&] { refuse_twins(request.inputs); });
  const core::Overwrite overwrite{run.options.flag("force"), {}};
  const core::Holding there = core::OutputDirectory::look(run.comm, target, request, overwrite);
  const CountingBill bill = bill_of(run, target, memory, disk_of(suite, there.manifest));
  if (const auto refused = refusal(suite.manifest.grid, bill, target); refused && bill.disk.needed > 0)
    throw *refused;
  core::OutputDirectory output(run.comm, run.log, target, request, overwrite);
  const bool up_to_date = output.up_to_date();
  if (!up_to_date) {
    count_suite(run.comm, run.log, output, suite, reading);
    output.finish_if_all(run.tool, run.facts);
  }
  Json summary = summary_of(suite, bill, target);
  summary.update({{"id", request.id()},
                  {"up_to_date", up_to_date},
                  {"peak_rss_bytes", run.comm.max(core::peak_resident_memory())},
                  {"seconds", timer.seconds()}});
  run.report(summary, up_to_date ? fmt::format("{} is up to date\n", target)
                                 : fmt::format("{}: {}", target, describe(suite, bill)));
}

}  // namespace cosmo::dataset
