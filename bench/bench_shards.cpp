// How fast shards are written, against a plain write and fsync of the same bytes, in turns:
//   files: shards of counts in memory, written, synced, hashed and published as cosmo-prep shard does;
//   stage: all of cosmo-prep shard, which reads, hashes and sums a suite in the page cache first.
// bench-shards [DIRECTORY], or under mpirun, where ranks share shards and plain files alike.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <vector>

#include "core/output_directory.hpp"
#include "core/random.hpp"
#include "dataset/shard_suite.hpp"
#include "dataset/shard_writer.hpp"
#include "histogram/count_file.hpp"

using namespace cosmo;
namespace fs = std::filesystem;

namespace {

constexpr int kGrid = 256, kSide = 128, kSimulations = 24, kSamplesPerShard = 64, kRounds = 5;
constexpr int kShards = kSimulations * 8 / kSamplesPerShard;
constexpr std::size_t kVoxels = std::size_t{kSide} * kSide * kSide;

/// Counts in which most voxels are empty.
std::vector<std::uint16_t> some_counts(std::uint64_t seed, std::size_t size) {
  const core::RandomStream stream(seed, core::Purpose::gaussian_field);
  std::vector<std::uint16_t> counts(size);
  for (std::uint32_t v = 0; v < counts.size(); ++v) {
    const double x = stream.uniform({v, 0, 0});
    counts[v] = static_cast<std::uint16_t>(1 / (x * x + 0.01));
  }
  return counts;
}

dataset::SampleSpec spec() {
  return {.parameters = {{"omega_m"}, {0}, {1}},
          .shape = {kSide, kSide, kSide},
          .box_size = core::Length(256),
          .redshifts = {0},
          .mean_count = 1,
          .input_id = "sha256:0"};
}

/// A suite of the same counts again and again.
dataset::Suite make_suite(const core::Communicator& comm, const core::Log& log, const fs::path& directory) {
  dataset::Suite suite{directory, {}};
  suite.manifest.parameters = {{"omega_m"}, {0.2}, {0.4}};
  suite.manifest.box_size = core::Length(512);
  suite.manifest.grid = kGrid;
  core::OutputDirectory output(comm, log, directory, {"generate", {{"grid", kGrid}}, {}}, {});
  histogram::CountGrid grid({kGrid, 512}, core::slab_of(kGrid, comm.rank(), comm.size()));
  const auto counts = some_counts(1, grid.counts().size());
  std::copy(counts.begin(), counts.end(), grid.counts().begin());
  const std::uint64_t particles = comm.sum(grid.sum());
  for (std::uint32_t s = 0; s < kSimulations; ++s) {
    core::SimulationRecord record{s, s, {}, {{0, fmt::format("sim-{:05}/counts_z0.h5", s), ""}}, ""};
    record.cosmology.omega_m = 0.2 + 0.2 * (s + 0.5) / kSimulations;
    if (comm.is_root()) fs::create_directories((directory / record.counts()).parent_path());
    comm.barrier();
    histogram::write_counts(comm, output.part_path(record.counts()),
                            {{kGrid, 512}, 0, s, record.cosmology, particles}, grid);
    std::vector<core::FileRecord> records;
    if (comm.is_root()) records.push_back(output.seal(record.counts()));
    output.record(records);
    suite.manifest.simulations.push_back(record);
  }
  output.finish("bench-shards", suite.manifest.details(), core::Json::object());
  return {directory, core::load_simulation_manifest(directory)};
}

void write_plainly(const fs::path& path, const std::vector<std::uint16_t>& counts) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const auto bytes = static_cast<ssize_t>(counts.size() * sizeof(std::uint16_t));
  for (int i = 0; i < kSamplesPerShard; ++i) {
    if (::write(file, counts.data(), static_cast<std::size_t>(bytes)) != bytes) std::abort();
  }
  if (::fsync(file) != 0) std::abort();
  ::close(file);
}

/// This rank's share of the shards, from counts in memory.
void write_shards(core::OutputDirectory& output, const core::Communicator& comm,
                  const std::vector<std::uint16_t>& counts) {
  std::future<core::FileRecord> sealing;
  for (int s = comm.rank(); s < kShards; s += comm.size()) {
    const std::string path = dataset::shard_path(dataset::Split::train, static_cast<std::size_t>(s));
    dataset::ShardWriter writer(output.part(path), spec(), kSamplesPerShard, dataset::Compression::none);
    for (std::uint32_t i = 0; i < kSamplesPerShard; ++i) writer.append({i, 0, i, {0.5}}, counts);
    std::move(writer).finish();
    if (sealing.valid()) sealing.get();
    sealing = std::async(std::launch::async, [&output, path] { return output.seal(path); });
  }
  if (sealing.valid()) sealing.get();
}

/// Seconds of the slowest rank.
double seconds_of(const core::Communicator& comm, const std::function<void()>& work) {
  comm.barrier();
  const auto start = std::chrono::steady_clock::now();
  work();
  return comm.max(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void run(const core::Communicator& comm, const fs::path& directory) {
  const core::Log log(true, true);
  const auto counts = some_counts(2, kVoxels);
  const dataset::Suite suite = make_suite(comm, log, directory / "sim");
  const dataset::ShardSettings settings{.grid = kGrid, .samples_per_shard = kSamplesPerShard};
  const dataset::ShardPlan plan = dataset::plan_shards(suite.manifest, settings);
  std::vector<double> plain, files, stage;
  for (int round = 0; round < kRounds; ++round) {
    plain.push_back(seconds_of(comm, [&] {
      for (int s = comm.rank(); s < kShards; s += comm.size())
        write_plainly(directory / fmt::format("plain-{}", s), counts);
    }));
    const auto into = [&](const char* name) { return directory / fmt::format("{}-{}", name, round); };
    {
      core::OutputDirectory output(comm, log, into("files"), {"shard", {{"round", round}}, {}}, {});
      files.push_back(seconds_of(comm, [&] { write_shards(output, comm, counts); }));
    }
    {
      core::OutputDirectory output(comm, log, into("stage"), {"shard", settings.config(), {}}, {});
      stage.push_back(
          seconds_of(comm, [&] { (void)dataset::shard_suite(comm, log, output, suite, plan, settings); }));
    }
    comm.barrier();
    if (comm.is_root()) {
      for (const char* name : {"files", "stage"}) fs::remove_all(into(name));
    }
  }
  const double bytes = static_cast<double>(kShards * kSamplesPerShard) * kVoxels * sizeof(std::uint16_t);
  std::string text = fmt::format("{} in {} shards on {} ranks, medians of {}:\n", core::format_bytes(bytes),
                                 kShards, comm.size(), kRounds);
  for (const auto& [name, times] :
       {std::pair("plain write and fsync", plain), {"files", files}, {"stage", stage}}) {
    text += fmt::format("  {:<21} {:>8.0f} MB/s, {:.2f} of plain\n", name, bytes / median(times) / 1e6,
                        median(plain) / median(times));
  }
  if (comm.is_root()) fmt::print("{}", text);
}

}  // namespace

int main(int argc, char** argv) {
  core::MpiSession session(argc, argv);
  const core::Communicator comm = core::Communicator::world();
  const fs::path parent = argc > 1 ? fs::path(argv[1]) : fs::temp_directory_path();
  const fs::path directory = parent / comm.broadcast(fmt::format("cosmo-bench-shards-{}", ::getpid()));
  if (comm.is_root()) fs::create_directories(directory);
  comm.barrier();
  run(comm, directory);
  comm.barrier();
  if (comm.is_root()) fs::remove_all(directory);
}
