#include "dataset/cosmo_prep_histogram.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/checksum.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/manifest.hpp"
#include "core/memory.hpp"
#include "core/output_directory.hpp"
#include "core/rounds.hpp"
#include "core/simulation_manifest.hpp"
#include "core/timer.hpp"
#include "dataset/gadget_snapshot.hpp"
#include "histogram/count_file.hpp"
#include "histogram/particle_counter.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;
using core::Json;
using histogram::ParticleCounter;

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

/// What a run takes [bytes], and what there is.
struct Bill {
  std::uint64_t memory_per_rank, memory_per_node, memory_available;
  std::uint64_t disk, disk_available;
};

std::string option_of(std::string_view parameter) {
  std::string name(parameter);
  std::ranges::replace(name, '_', '-');
  return name;
}

GadgetReading read_reading(const core::Options& options) {
  constexpr int kMostTypes = 31;
  GadgetReading reading{static_cast<int>(options.integer("particle-type", 0, kMostTypes))};
  const std::string& unit = options.choice("length-unit", {"header", "kpc/h", "Mpc/h"});
  if (unit != "header") reading.units_per_mpc_h = unit == "kpc/h" ? 1000 : 1;
  return reading;
}

/// The parameters of the universe: the snapshot's, then the user's, then cosmo-sim's defaults.
core::Cosmology read_cosmology(const core::Options& options, const std::map<std::string, double>& stated,
                               std::vector<std::string>& assumed) {
  core::Cosmology cosmology;
  for (const core::CosmologyParameter& row : core::kCosmologyParameters) {
    const std::string name(row.name), option = option_of(row.name);
    double& value = cosmology.*row.member;
    const auto found = stated.find(name);
    if (options.given(option)) {
      value = options.number(option);
      ensure(found == stated.end() || std::abs(found->second - value) <= 1e-6 * std::abs(value),
             Fault::config, "--{} is {} and the snapshot says {}: leave the option out.", option, value,
             found == stated.end() ? 0 : found->second);
    } else if (found != stated.end()) {
      value = found->second;
    } else if (name != "w0" && name != "wa") {
      assumed.push_back(name);
    }
  }
  core::validate(cosmology);
  return cosmology;
}

Job read_job(const core::Options& options) {
  const GadgetReading reading = read_reading(options);
  const auto grid = static_cast<int>(options.integer("grid", 1, 1 << 14));
  Job job{GadgetSnapshot(options.text("input"), reading), reading, {}, {}};
  job.header = {.grid = {grid, job.snapshot.box_size() / job.snapshot.units_per_mpc_h()},
                .redshift = job.snapshot.redshift(),
                .seed = options.given("seed") ? options.seed("seed") : job.snapshot.seed().value_or(0),
                .cosmology = read_cosmology(options, job.snapshot.parameters(), job.assumed),
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

/// The request, whose inputs are the snapshot's files: their content decides the id. Collective.
core::Request request_of(const core::Communicator& comm, const Job& job, const std::string& target) {
  constexpr std::size_t kDigits = 64;
  const std::vector<GadgetFile>& files = job.snapshot.files();
  std::vector<std::uint32_t> digits(files.size() * kDigits, 0);
  core::in_rounds(
      comm, files.size(),
      [&](std::size_t i) {
        std::ranges::copy(core::sha256_of_file(files[i].path),
                          digits.begin() + static_cast<std::ptrdiff_t>(i * kDigits));
      },
      [](std::size_t) {});
  comm.sum(std::span(digits));  // the other ranks have 0
  core::Request request{"histogram", details_of(job), {}};
  request.config["particle_type"] = job.reading.particle_type;
  request.config["units_per_mpc_h"] = job.snapshot.units_per_mpc_h();
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto first = digits.begin() + static_cast<std::ptrdiff_t>(i * kDigits);
    const std::string sha256(first, first + kDigits);
    request.inputs.push_back({core::seen_from(target, files[i].path).string(), "sha256:" + sha256, sha256});
  }
  return request;
}

std::uint64_t rows_of_round(const core::Communicator& comm, std::uint64_t particles) {
  const auto ranks = static_cast<std::uint64_t>(comm.size());
  return std::max<std::uint64_t>(1, std::min<std::uint64_t>(ParticleCounter::kRound, particles) / ranks);
}

/// Collective.
Bill bill_of(const core::Invocation& run, const Job& job, const std::string& target) {
  const std::uint64_t particles = job.header.particles;
  const std::uint64_t block = rows_of_round(run.comm, particles) * 3 * job.snapshot.float_bytes();
  const core::Communicator node = run.comm.node();
  Bill bill{};
  bill.memory_per_rank =
      run.comm.max(core::resident_memory() + block +
                   ParticleCounter::memory_bytes(job.header.grid, particles, run.comm.size(), run.threads));
  bill.memory_per_node = bill.memory_per_rank * static_cast<std::uint64_t>(node.size());
  const std::uint64_t resident = node.sum(core::resident_memory()), free = node.max(core::available_memory());
  bill.memory_available = free + std::min(resident, ~free);
  bill.disk = job.header.grid.cells() * sizeof(std::uint16_t);
  bill.disk_available = run.comm.max(run.comm.is_root() ? core::available_disk(target) : 0);
  return bill;
}

/// The sentence with which a real run is refused, or nothing. Collective.
std::optional<core::Error> refusal(const core::Communicator& comm, const Job& job, const Bill& bill,
                                   const std::string& target) {
  const auto bytes = [](std::uint64_t number) { return core::format_bytes(static_cast<double>(number)); };
  if (comm.max(bill.memory_per_node > bill.memory_available ? 1 : 0) > 0) {
    return core::Error(
        Fault::config,
        fmt::format("--grid {} needs about {} of memory a rank, more than a node has: choose a "
                    "coarser one, or use more nodes.",
                    job.header.grid.cells_per_side, bytes(bill.memory_per_rank)),
        true);
  }
  if (bill.disk > bill.disk_available) {
    return core::Error(
        Fault::io,
        fmt::format("The counts need {} and the disk of --output {} has {} free: choose another "
                    "--output.",
                    bytes(bill.disk), target, bytes(bill.disk_available)),
        true);
  }
  return std::nullopt;
}

Json summary_of(const Job& job, const Bill& bill, const std::string& target) {
  Json summary = details_of(job);
  summary["output"] = target;
  summary["snapshot_files"] = job.snapshot.files().size();
  summary["units_per_mpc_h"] = job.snapshot.units_per_mpc_h();
  summary["coordinates"] = job.snapshot.float_bytes() == sizeof(double) ? "float64" : "float32";
  summary["memory_bytes_per_rank"] = bill.memory_per_rank;
  summary["disk_bytes"] = bill.disk;
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
      core::format_bytes(static_cast<double>(bill.memory_per_rank)),
      core::format_bytes(static_cast<double>(bill.disk)));
}

/// Reads and counts all particles, of which every rank takes a part, in the snapshot's own unit. Collective.
template <class T>
histogram::CountGrid count(const core::Invocation& run, const Job& job) {
  const GadgetSnapshot& snapshot = job.snapshot;
  const std::uint64_t particles = snapshot.particles(), step = rows_of_round(run.comm, particles);
  const auto ranks = static_cast<std::uint64_t>(run.comm.size()),
             rank = static_cast<std::uint64_t>(run.comm.rank());
  const std::uint64_t first = particles / ranks * rank + std::min(rank, particles % ranks);
  const std::uint64_t rows = particles / ranks + (rank < particles % ranks ? 1 : 0);
  const std::uint64_t rounds = run.comm.max((rows + step - 1) / step);
  core::Progress progress(run.log, "rounds of reading", static_cast<std::int64_t>(rounds));
  core::Buffer<T> block(3 * step);
  ParticleCounter counter(run.comm, {job.header.grid.cells_per_side, snapshot.box_size()});
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::uint64_t start = std::min(rows, round * step);
    const std::span<T> part = block.span().first(3 * std::min(step, rows - start));
    run.comm.agree([&] { snapshot.read(first + start, part); });
    counter.add(std::span<const T>(part));
    progress.advance();
  }
  return std::move(counter).finish();
}

/// Collective.
void write(const core::Invocation& run, const Job& job, core::OutputDirectory& output) {
  const std::string path = job.counts_path();
  if (output.find(path) == nullptr) {
    const histogram::CountGrid grid =
        job.snapshot.float_bytes() == sizeof(double) ? count<double>(run, job) : count<float>(run, job);
    fs::path part;
    run.comm.agree([&] { part = run.comm.is_root() ? output.part(path) : output.part_path(path); });
    histogram::write_counts(run.comm, part, job.header, grid);
    std::vector<core::FileRecord> records;
    run.comm.agree([&] {
      if (run.comm.is_root()) records.push_back(output.seal(path));
    });
    output.record(records);
  }
  output.finish(run.tool, details_of(job), run.facts);
}

void warn_of_assumptions(const core::Log& log, const Job& job) {
  if (job.assumed.empty()) return;
  std::vector<std::string> values;
  for (const std::string& name : job.assumed) {
    values.push_back(fmt::format("--{} {}", option_of(name),
                                 job.header.cosmology.*core::find_cosmology_parameter(name)->member));
  }
  log.warn("the snapshot does not state all parameters of its universe; the counts file will say {}.",
           fmt::join(values, " "));
}

}  // namespace

void declare_histogram(core::Options& options) {
  options.add(
      "input", std::nullopt,
      "snapshot in Gadget's HDF5 layout: its file, any of its files NAME.0.hdf5 …, or their directory");
  options.add("grid", std::nullopt, "voxels a side of the counts");
  options.add("particle-type", "1", "type of particles to count, PartType0 …; 1 is dark matter");
  options.add("length-unit", "header",
              "of the snapshot's lengths: kpc/h, Mpc/h, or header: as its files say");
  const core::Cosmology defaults;
  for (const core::CosmologyParameter& row : core::kCosmologyParameters) {
    options.add(option_of(row.name), std::nullopt,
                fmt::format("{} [as the snapshot says, else {}]", row.meaning, defaults.*row.member));
  }
  options.add("seed", std::nullopt,
              "of the initial conditions, for the record [as the snapshot says, else 0]");
}

void run_histogram(const core::Invocation& run) {
  const core::Timer timer;
  std::optional<Job> job;
  std::string target;
  run.comm.agree([&] {
    target = run.options.text("output");
    const fs::path input = run.options.text("input");
    if (run.comm.is_root() && fs::is_regular_file(input)) core::check_in_suite(input);
    job.emplace(read_job(run.options));
  });
  const Bill bill = bill_of(run, *job, target);
  const std::optional<core::Error> refused = refusal(run.comm, *job, bill, target);
  Json summary = summary_of(*job, bill, target);
  warn_of_assumptions(run.log, *job);
  if (run.options.flag("dry-run")) {
    summary["dry_run"] = true;
    if (refused) run.log.warn("{}", refused->what());
    return run.report(summary, describe(*job, bill));
  }
  const core::Request request = request_of(run.comm, *job, target);
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
