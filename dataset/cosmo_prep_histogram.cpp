#include "dataset/cosmo_prep_histogram.hpp"

#include <algorithm>
#include <optional>

#include "core/disk_bill.hpp"
#include "core/error.hpp"
#include "core/manifest.hpp"
#include "core/memory.hpp"
#include "core/node_memory.hpp"
#include "core/output_directory.hpp"
#include "core/simulation_manifest.hpp"
#include "core/timer.hpp"
#include "dataset/gadget_snapshot.hpp"
#include "dataset/snapshot_counts.hpp"
#include "dataset/snapshot_suite.hpp"
#include "dataset/snapshot_table.hpp"
#include "histogram/count_file.hpp"

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

/// What a run takes, and what there is.
struct Bill {
  core::MemoryBill memory;
  core::DiskBill disk;
};

std::string option_of(std::string_view parameter) {
  std::string name(parameter);
  std::ranges::replace(name, '_', '-');
  return name;
}

/// The parameters that options state.
StatedParameters stated_parameters(const core::Options& options) {
  StatedParameters stated;
  for (const core::CosmologyParameter& row : core::kCosmologyParameters) {
    const std::string option = option_of(row.name);
    if (options.given(option)) stated[std::string(row.name)] = {options.number(option), "--" + option};
  }
  return stated;
}

int read_grid(const core::Options& options) { return static_cast<int>(options.integer("grid", 1, 1 << 14)); }

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

/// Adds the snapshots' files to the request's inputs: their content decides the id. Collective.
void add_inputs(const core::Invocation& run, const std::vector<std::string>& files, const std::string& target,
                core::Request& request) {
  const std::vector<std::string> digests = sha256_of_files(run.comm, run.log, files);
  for (std::size_t i = 0; i < files.size(); ++i)
    request.inputs.push_back(
        {core::seen_from(target, files[i]).string(), "sha256:" + digests[i], digests[i]});
}

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

/// Collective.
Bill bill_of(const core::Invocation& run, const std::string& target, std::uint64_t memory,
             std::uint64_t disk) {
  return {core::NodeMemory(run.comm).bill(run.comm.max(memory)), core::disk_bill(run.comm, target, disk)};
}

/// The sentence with which a real run is refused, or nothing.
std::optional<core::Error> refusal(int grid, const Bill& bill, const std::string& target) {
  const auto bytes = [](std::uint64_t number) { return core::format_bytes(static_cast<double>(number)); };
  if (!bill.memory.is_covered()) {
    return core::Error(
        Fault::config,
        fmt::format("--grid {} needs about {} of memory on a node that has {} available: choose a coarser "
                    "one, or use more nodes.",
                    grid, bytes(bill.memory.per_node), bytes(bill.memory.available)),
        true);
  }
  if (!bill.disk.is_covered()) return core::disk_shortage(bill.disk, target, "The counts to write");
  return std::nullopt;
}

Json summary_of(const Job& job, const Bill& bill, const std::string& target) {
  Json summary = details_of(job);
  summary["output"] = target;
  summary["snapshot_files"] = job.snapshot.files().size();
  summary["units_per_mpc_h"] = job.snapshot.units_per_mpc_h();
  summary["coordinates"] = job.snapshot.float_bytes() == sizeof(double) ? "float64" : "float32";
  summary["memory_bytes_per_rank"] = bill.memory.per_rank;
  summary["disk_bytes"] = bill.disk.needed;
  return summary;
}

std::string describe(const Job& job, const Bill& bill) {
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

void warn_of_assumptions(const core::Log& log, const std::vector<std::string>& assumed,
                         std::string_view lack) {
  if (assumed.empty()) return;
  const core::Cosmology defaults;
  std::vector<std::string> values;
  for (const std::string& name : assumed) {
    values.push_back(
        fmt::format("--{} {}", option_of(name), defaults.*core::find_cosmology_parameter(name)->member));
  }
  log.warn("{}; the counts will say {}.", lack, fmt::join(values, " "));
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

Json summary_of(const SnapshotSuite& suite, const Bill& bill, const std::string& target) {
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

std::string describe(const SnapshotSuite& suite, const Bill& bill) {
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

/// The snapshots of a table, to a suite that cosmo-prep shard takes as if cosmo-sim had written it.
void run_suite(const core::Invocation& run, const std::string& target) {
  const core::Timer timer;
  GadgetReading reading;
  run.comm.agree([&] { reading = read_gadget_reading(run.options); });
  const SnapshotSuite suite = read_suite(run, reading);
  warn_of_assumptions(run.log, suite.assumed,
                      "table and snapshots do not state all parameters of the universes");
  const std::uint64_t memory = memory_of(suite, run.threads);
  if (run.options.flag("dry-run")) {
    const Bill bill = bill_of(run, target, memory, disk_of(suite, {}));
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
  const Bill bill = bill_of(run, target, memory, disk_of(suite, there.manifest));
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

void run_histogram(const core::Invocation& run) {
  const core::Timer timer;
  std::optional<Job> job;
  std::string target;
  fs::path input;
  run.comm.agree([&] {
    target = run.options.text("output");
    input = run.options.text("input");
  });
  if (input.extension() == ".csv") return run_suite(run, target);
  run.comm.agree([&] {
    if (run.comm.is_root() && fs::is_regular_file(input)) core::check_in_suite(input);
    job.emplace(read_job(run.options));
  });
  const histogram::CountFileHeader& header = job->header;
  const Bill bill = bill_of(run, target,
                            counting_memory(header.grid, header.particles, job->snapshot.float_bytes(),
                                            run.comm.size(), run.threads),
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
