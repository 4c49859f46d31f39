// How fast the data loader makes batches of 128³ from shards in the page cache, checksums compared and counts
// turned into float32 by log1p, against reading the same bytes.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <utility>
#include <vector>

#include "core/checksum.hpp"
#include "core/log.hpp"
#include "core/random.hpp"
#include "core/timer.hpp"
#include "dataset/data_loader.hpp"
#include "dataset/shard_writer.hpp"

using namespace cosmo;
namespace fs = std::filesystem;

namespace {

constexpr int kSide = 128;
constexpr std::uint32_t kSamples = 32;
constexpr int kRepetitions = 5;

/// One training shard of samples in which most voxels are empty, as in a universe with one particle a voxel.
dataset::DatasetManifest write_shard(const fs::path& directory, dataset::Compression compression) {
  dataset::DatasetManifest manifest;
  manifest.spec = {.parameters = {{"omega_m"}, {0}, {1}},
                   .shape = {kSide, kSide, kSide},
                   .box_size = core::Length(256),
                   .redshifts = {0},
                   .mean_count = 1,
                   .input_id = "sha256:0"};
  fs::create_directories(directory / "train");
  const std::string path = dataset::shard_path(dataset::Split::train, 0);
  dataset::ShardWriter writer(directory / path, manifest.spec, kSamples, compression);
  std::vector<std::uint16_t> counts(manifest.spec.voxels());
  const core::RandomStream stream(1, core::Purpose::gaussian_field);
  dataset::SplitRecord& train = manifest.splits[0];
  for (std::uint32_t i = 0; i < kSamples; ++i) {
    for (std::uint32_t v = 0; v < counts.size(); ++v) {
      counts[v] = static_cast<std::uint16_t>(std::exp(1.3 * stream.normals({v, i, 0})[0] - 0.8));
    }
    writer.append({i, 0, i, {0.5}}, counts);
    train.simulations.push_back(i);
  }
  std::move(writer).finish();
  train.shards = {path};
  train.samples = kSamples;
  manifest.base.files = {{path, fs::file_size(directory / path), core::sha256_of_file(directory / path)}};
  return manifest;
}

/// Samples a second of the fastest repetition.
double rate(const std::function<void()>& epoch) {
  double best = 0;
  for (int r = 0; r < kRepetitions; ++r) {
    const core::Timer timer;
    epoch();
    best = std::max(best, kSamples / timer.seconds());
  }
  return best;
}

double read_rate(const fs::path& path) {
  std::vector<char> sample(fs::file_size(path) / kSamples);
  const int file = ::open(path.c_str(), O_RDONLY);
  const double result = rate([&] {
    for (std::uint32_t i = 0; i < kSamples; ++i) {
      if (::pread(file, sample.data(), sample.size(), static_cast<off_t>(i * sample.size())) <= 0)
        std::abort();
    }
  });
  ::close(file);
  return result;
}

void measure(const fs::path& directory, const char* name, dataset::Compression compression) {
  const dataset::DatasetManifest manifest = write_shard(directory, compression);
  const fs::path shard = directory / manifest.splits[0].shards.front();
  dataset::SplitReader reader(directory, manifest, dataset::Split::train);
  const double reference = read_rate(shard);
  fmt::print("{}: {} a sample, pread {:.0f} samples/s\n", name,
             core::format_bytes(static_cast<double>(fs::file_size(shard)) / kSamples), reference);
  for (const auto& [readers, augment] :
       {std::pair(0, false), {1, false}, {2, false}, {0, true}, {1, true}, {2, true}}) {
    dataset::DataLoader loader(reader,
                               dataset::find_voxel_transform("log1p", {dataset::VoxelKind::counts, 1}),
                               {.shuffle = true, .augment = augment, .readers = readers});
    std::uint32_t epoch = 0;
    const double samples = rate([&] {
      loader.start_epoch(epoch++);
      while (loader.next()) continue;
    });
    fmt::print("  {} readers{}: {:.0f} samples/s, {:.2f} of pread\n", readers,
               augment ? ", turning samples" : "", samples, samples / reference);
  }
}

}  // namespace

int main() {
  const fs::path directory = fs::temp_directory_path() / fmt::format("cosmo-bench-loader-{}", ::getpid());
  measure(directory, "plain", dataset::Compression::none);
  measure(directory, "gzip", dataset::Compression::gzip);
  fs::remove_all(directory);
}
