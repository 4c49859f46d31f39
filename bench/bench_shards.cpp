// Speed of writing shards, compared with a plain write and fsync of the same bytes, in turns:
//   files: shards of counts in memory, written, synced, hashed and published as cosmo-prep shard does;
//   stage: all of cosmo-prep shard, which first reads, hashes and sums a suite in the page cache.
// Under mpirun the ranks share both shards and plain files.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/median.hpp"
#include "core/output/output_directory.hpp"
#include "core/random.hpp"
#include "core/run/tool.hpp"
#include "core/timer.hpp"
#include "dataset/make/shard_suite.hpp"
#include "dataset/shard/shard_writer.hpp"
#include "histogram/count_file.hpp"

using namespace cosmo;
namespace fs = std::filesystem;

namespace {

struct Settings {
  int grid;  ///< voxels per side of a universe, which is cut into eight samples
  int simulations;
  int samples_per_shard;
  int rounds;

  int side() const { return grid / 2; }
  int shards() const { return simulations * 8 / samples_per_shard; }
  std::size_t voxels() const {
    const auto length = static_cast<std::size_t>(side());
    return length * length * length;
  }
};

/// Counts with mostly empty voxels.
std::vector<std::uint16_t> some_counts(std::uint64_t seed, std::size_t size) {
  const core::RandomStream stream(seed, core::Purpose::gaussian_field);
  std::vector<std::uint16_t> counts(size);
  for (std::uint32_t v = 0; v < counts.size(); ++v) {
    const double x = stream.uniform({v, 0, 0});
    counts[v] = static_cast<std::uint16_t>(1 / (x * x + 0.01));
  }
  return counts;
}

dataset::SampleSpec spec(int side) {
  return {.parameters = {{"omega_m"}, {0}, {1}},
          .input = {dataset::VoxelKind::counts, {side, side, side}, {0}},
          .box_size = core::Length(256),
          .mean_count = 1,
          .input_id = "sha256:0"};
}

/// A suite that repeats the same counts.
dataset::JoinedSources make_suite(const core::Communicator& comm, const core::Log& log,
                                  const fs::path& directory, const Settings& settings) {
  const int cells = settings.grid;
  core::SimulationManifest suite;
  suite.parameters = {{"omega_m"}, {0.2}, {0.4}};
  suite.box_size = core::Length(512);
  suite.grid = cells;
  core::OutputDirectory output(comm, log, directory, {"generate", {{"grid", cells}}, {}}, {});
  histogram::CountGrid grid({cells, 512}, core::slab_of(cells, comm.rank(), comm.size()));
  const auto counts = some_counts(1, grid.counts().size());
  std::copy(counts.begin(), counts.end(), grid.counts().begin());
  const std::uint64_t particles = comm.sum(grid.sum());
  const auto simulations = static_cast<std::uint32_t>(settings.simulations);
  for (std::uint32_t s = 0; s < simulations; ++s) {
    core::SimulationRecord record{s, {s, {}}, {{0, fmt::format("sim-{:05}/counts_z0.h5", s), ""}}, ""};
    record.universe.cosmology.omega_m = 0.2 + 0.2 * (s + 0.5) / simulations;
    if (comm.is_root()) fs::create_directories((directory / record.counts()).parent_path());
    comm.barrier();
    histogram::write_counts(comm, output.part_path(record.counts()),
                            {{record.universe, 512, 0, particles, {}}, cells}, grid);
    std::vector<core::FileRecord> records;
    if (comm.is_root()) records.push_back(output.seal(record.counts()));
    output.record(records);
    suite.simulations.push_back(record);
  }
  output.finish("bench-shards", suite.details(), core::Json::object());
  return dataset::JoinedSources::open({directory.string()});
}

void write_plainly(const fs::path& path, const std::vector<std::uint16_t>& counts, int samples) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const auto bytes = static_cast<ssize_t>(counts.size() * sizeof(std::uint16_t));
  for (int i = 0; i < samples; ++i) {
    if (::write(file, counts.data(), static_cast<std::size_t>(bytes)) != bytes) std::abort();
  }
  if (::fsync(file) != 0) std::abort();
  ::close(file);
}

/// Writes this rank's share of the shards from counts in memory.
void write_shards(core::OutputDirectory& output, const core::Communicator& comm, const Settings& settings,
                  const std::vector<std::uint16_t>& counts) {
  const auto samples = static_cast<std::uint32_t>(settings.samples_per_shard);
  std::future<core::FileRecord> sealing;
  for (int s = comm.rank(); s < settings.shards(); s += comm.size()) {
    const std::string path = dataset::shard_path(dataset::Split::train, static_cast<std::size_t>(s));
    dataset::ShardWriter writer(output.part(path), spec(settings.side()), samples,
                                dataset::Compression::none);
    for (std::uint32_t i = 0; i < samples; ++i) writer.append({i, 0, i, {0.5}}, counts);
    std::move(writer).finish();
    if (sealing.valid()) sealing.get();
    sealing = std::async(std::launch::async, [&output, path] { return output.seal(path); });
  }
  if (sealing.valid()) sealing.get();
}

/// Seconds that the slowest rank takes.
double seconds_of(const core::Communicator& comm, const std::function<void()>& work) {
  comm.barrier();
  const core::Timer timer;
  work();
  return comm.max(timer.seconds());
}

/// Times of the rounds. [s]
struct Times {
  std::vector<double> plain, files, stage;
};

Times measure(const core::Communicator& comm, const Settings& settings, const fs::path& directory) {
  const core::Log log(true, true);
  const auto counts = some_counts(2, settings.voxels());
  const dataset::JoinedSources suite = make_suite(comm, log, directory / "sim", settings);
  const dataset::ShardSettings sharding{
      .grid = settings.grid, .samples_per_shard = static_cast<std::uint32_t>(settings.samples_per_shard)};
  const dataset::ShardPlan plan = dataset::plan_shards(suite, sharding);
  Times times;
  for (int round = 0; round < settings.rounds; ++round) {
    times.plain.push_back(seconds_of(comm, [&] {
      for (int s = comm.rank(); s < settings.shards(); s += comm.size())
        write_plainly(directory / fmt::format("plain-{}", s), counts, settings.samples_per_shard);
    }));
    const auto into = [&](const char* name) { return directory / fmt::format("{}-{}", name, round); };
    {
      core::OutputDirectory output(comm, log, into("files"), {"shard", {{"round", round}}, {}}, {});
      times.files.push_back(seconds_of(comm, [&] { write_shards(output, comm, settings, counts); }));
    }
    {
      core::OutputDirectory output(comm, log, into("stage"), {"shard", sharding.config(), {}}, {});
      times.stage.push_back(
          seconds_of(comm, [&] { (void)dataset::shard_suite(comm, log, output, suite, plan, sharding); }));
    }
    comm.barrier();
    if (comm.is_root()) {
      for (const char* name : {"files", "stage"}) fs::remove_all(into(name));
    }
  }
  return times;
}

void declare(core::Options& options) {
  options.add_positional("directory", "directory on the disk to be measured [that of temporary files]");
  options.add("grid N", "256", "voxels per side of a universe; a sample has half that number");
  options.add("simulations N", "24", "universes of eight samples each");
  options.add("samples-per-shard N", "64", "divisor of the number of samples");
  options.add("rounds N", "5", "rounds in which every way has its turn; the median counts");
}

Settings settings_of(const core::Options& options) {
  const auto number = [&](const char* name, int low, int high) {
    return static_cast<int>(options.integer(name, low, high));
  };
  const Settings settings{number("grid", 8, 4096), number("simulations", 3, 100000),
                          number("samples-per-shard", 1, 100000), number("rounds", 1, 1000)};
  core::ensure(settings.simulations * 8 % settings.samples_per_shard == 0, core::Fault::config,
               "{} samples do not fill shards of {}: give --samples-per-shard a divisor.",
               settings.simulations * 8, settings.samples_per_shard);
  return settings;
}

void run_benchmark(const core::Invocation& run) {
  const core::Communicator& comm = run.comm;
  Settings settings{};
  comm.agree([&] { settings = settings_of(run.options); });
  const fs::path parent =
      run.options.given("directory") ? fs::path(run.options.text("directory")) : fs::temp_directory_path();
  const fs::path directory = parent / comm.broadcast(fmt::format("cosmo-bench-shards-{}", ::getpid()));
  comm.agree([&] {
    if (comm.is_root()) fs::create_directories(directory);
  });
  const Times times = measure(comm, settings, directory);
  comm.barrier();
  if (comm.is_root()) fs::remove_all(directory);

  const auto samples = static_cast<std::size_t>(settings.simulations) * 8;
  const auto bytes = static_cast<double>(samples * settings.voxels() * sizeof(std::uint16_t));
  std::string text = fmt::format("{} in {} shards on {} ranks, medians of {}:\n", core::format_bytes(bytes),
                                 settings.shards(), comm.size(), settings.rounds);
  core::Json summary;
  for (const auto& [name, seconds] :
       {std::pair("plain write and fsync", times.plain), {"files", times.files}, {"stage", times.stage}}) {
    const double rate = bytes / core::median(seconds), ratio = rate * core::median(times.plain) / bytes;
    text += fmt::format("  {:<21} {:>8.0f} MB/s, {:.2f} of plain\n", name, rate / 1e6, ratio);
    summary[name] = {{"bytes_per_second", rate}, {"ratio", ratio}};
  }
  run.report(summary, text);
}

}  // namespace

int main(int argc, char** argv) {
  return core::run_tool(argc, argv,
                        {"bench-shards",
                         "writing shards compared with a plain write and fsync of the same bytes",
                         {},
                         {{"", "times writing shards from memory, and all of cosmo-prep shard",
                           "bench-shards /scratch", false, core::OnStop::end, &declare, &run_benchmark}}});
}
