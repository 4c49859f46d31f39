// Speed of the data loader in making batches from shards in the page cache, with checksums compared and
// counts converted to float32 by log1p, compared with reading the same bytes.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/file/checksum.hpp"
#include "core/random.hpp"
#include "core/run/tool.hpp"
#include "core/timer.hpp"
#include "dataset/load/data_loader.hpp"
#include "dataset/shard/shard_writer.hpp"

using namespace cosmo;
namespace fs = std::filesystem;

namespace {

struct Settings {
  int side;               ///< voxels per side of a sample
  std::uint32_t samples;  ///< number of samples in the shard
  int repeats;
};

/// One training shard of samples with mostly empty voxels, as in a universe with one particle per voxel.
dataset::DatasetManifest write_shard(const fs::path& directory, const Settings& settings,
                                     dataset::Compression compression) {
  dataset::DatasetManifest manifest;
  manifest.spec = {.parameters = {{"omega_m"}, {0}, {1}},
                   .input = {dataset::VoxelKind::counts, {settings.side, settings.side, settings.side}, {0}},
                   .box_size = core::Length(256),
                   .mean_count = 1,
                   .input_id = "sha256:0"};
  fs::create_directories(directory / "train");
  const std::string path = dataset::shard_path(dataset::Split::train, 0);
  dataset::ShardWriter writer(directory / path, manifest.spec, settings.samples, compression);
  std::vector<std::uint16_t> counts(manifest.spec.input.voxels());
  const core::RandomStream stream(1, core::Purpose::gaussian_field);
  dataset::SplitRecord& train = manifest.splits[0];
  for (std::uint32_t i = 0; i < settings.samples; ++i) {
    for (std::uint32_t v = 0; v < counts.size(); ++v) {
      counts[v] = static_cast<std::uint16_t>(std::exp(1.3 * stream.normals({v, i, 0})[0] - 0.8));
    }
    writer.append({i, 0, i, {0.5}}, counts);
    train.simulations.push_back(i);
    train.seeds.push_back(i);
  }
  std::move(writer).finish();
  train.shards = {path};
  train.samples = settings.samples;
  manifest.base.files = {{path, fs::file_size(directory / path), core::sha256_of_file(directory / path)}};
  return manifest;
}

/// Samples per second in the fastest repetition.
double rate(const Settings& settings, const std::function<void()>& epoch) {
  double best = 0;
  for (int r = 0; r < settings.repeats; ++r) {
    const core::Timer timer;
    epoch();
    best = std::max(best, settings.samples / timer.seconds());
  }
  return best;
}

double read_rate(const Settings& settings, const fs::path& path) {
  std::vector<char> sample(fs::file_size(path) / settings.samples);
  const int file = ::open(path.c_str(), O_RDONLY);
  const double result = rate(settings, [&] {
    for (std::uint32_t i = 0; i < settings.samples; ++i) {
      if (::pread(file, sample.data(), sample.size(), static_cast<off_t>(i * sample.size())) <= 0)
        std::abort();
    }
  });
  ::close(file);
  return result;
}

/// Adds the rates for one kind of shard to summary and text.
void measure(const fs::path& directory, const Settings& settings, const char* name,
             dataset::Compression compression, core::Json& summary, std::string& text) {
  const dataset::DatasetManifest manifest = write_shard(directory, settings, compression);
  const fs::path shard = directory / manifest.splits[0].shards.front();
  dataset::SplitReader reader(directory, manifest, dataset::Split::train);
  const double reference = read_rate(settings, shard);
  text += fmt::format("{}: {} per sample, pread {:.0f} samples/s\n", name,
                      core::format_bytes(static_cast<double>(fs::file_size(shard)) / settings.samples),
                      reference);
  core::Json lines = core::Json::array();
  for (const auto& [readers, augment] :
       {std::pair(0, false), {1, false}, {2, false}, {0, true}, {1, true}, {2, true}}) {
    dataset::DataLoader loader(reader,
                               dataset::find_voxel_transform("log1p", {dataset::VoxelKind::counts, 1}),
                               {.shuffle = true, .augment = augment, .readers = readers});
    std::uint32_t epoch = 0;
    const double samples = rate(settings, [&] {
      loader.start_epoch(epoch++);
      while (loader.next()) continue;
    });
    text += fmt::format("  {} readers{}: {:.0f} samples/s, {:.2f} of pread\n", readers,
                        augment ? ", turning samples" : "", samples, samples / reference);
    lines.push_back({{"readers", readers},
                     {"turning", augment},
                     {"samples_per_second", samples},
                     {"ratio", samples / reference}});
  }
  summary[name] = {{"pread_samples_per_second", reference}, {"loader", lines}};
}

void declare(core::Options& options) {
  options.add("size N", "128", "voxels per side of a sample");
  options.add("samples N", "32", "samples in the shard");
  options.add("repeat N", "5", "number of times the shard is read in each way; the fastest counts");
}

void run_benchmark(const core::Invocation& run) {
  const Settings settings{static_cast<int>(run.options.integer("size", 4, 1024)),
                          static_cast<std::uint32_t>(run.options.integer("samples", 1, 1 << 16)),
                          static_cast<int>(run.options.integer("repeat", 1, 1000))};
  const fs::path directory = fs::temp_directory_path() / fmt::format("cosmo-bench-loader-{}", ::getpid());
  core::Json summary;
  std::string text;
  measure(directory, settings, "plain", dataset::Compression::none, summary, text);
  measure(directory, settings, "gzip", dataset::Compression::gzip, summary, text);
  fs::remove_all(directory);
  run.report(summary, text);
}

}  // namespace

int main(int argc, char** argv) {
  return core::run_tool(argc, argv,
                        {"bench-loader",
                         "the data loader compared with reading the same bytes",
                         {},
                         {{"", "times loading the samples of a shard in the page cache",
                           "bench-loader --size 64", false, core::OnStop::end, &declare, &run_benchmark}}});
}
