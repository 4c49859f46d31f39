// cosmo-prep: from the counts of a suite to the samples that a network is trained on.

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/memory.hpp"
#include "core/output/disk_bill.hpp"
#include "core/run/tool.hpp"
#include "core/timer.hpp"
#include "dataset/shard/shard_plan.hpp"
#include "dataset/shard/shard_suite.hpp"
#include "dataset/shard/verify.hpp"
#include "dataset/tool/cosmo_prep_describe.hpp"
#include "dataset/tool/cosmo_prep_exchange.hpp"
#include "dataset/tool/cosmo_prep_histogram.hpp"

using namespace cosmo;
using core::Json;
using dataset::DatasetManifest;
using dataset::Split;

namespace {

void declare_shard(core::Options& options) {
  options.add("input", std::nullopt, "directory that cosmo-sim generate wrote");
  options.add("grid", std::nullopt,
              "voxels a side of a simulation: a divisor of the suite's, whose counts are summed [as many as "
              "they have]");
  options.add("subvolumes", "2", "cuts a side: each simulation gives this many cubed samples, 1 to 6");
  options.add("redshifts", "0", "of the counts, between commas: a channel each, in this order");
  options.add(
      "rolls", "0",
      "times that each training universe is rolled at random, as a periodic box may be, and cut again: "
      "new cuts, no new universes");
  options.add("samples-per-shard", "64", "samples in a file");
  options.add(
      "training", std::nullopt,
      "simulations to train on, for learning curves: those of a lower number are also among those of a "
      "higher one [all that are not held out]");
  options.add("validation", std::nullopt, "simulations for validation [a tenth of the suite, at least 1]");
  options.add("test", std::nullopt, "simulations for the test at the end [a tenth of the suite, at least 1]");
  options.add("compress", "none", "none, or gzip for shuffle + deflate 1");
  options.add("seed", "1", "of the split and of the order of training samples");
  dataset::declare_allow_leak(options);
}

std::vector<double> read_redshifts(const core::Options& options) {
  std::vector<double> redshifts = options.numbers("redshifts");
  for (double& redshift : redshifts) redshift += 0.0;  // -0 is 0
  const std::set<double> different(redshifts.begin(), redshifts.end());
  core::ensure(different.size() == redshifts.size(), core::Fault::config,
               "--redshifts {} names one twice: give each channel its own.", options.text("redshifts"));
  return redshifts;
}

dataset::ShardSettings read_settings(const core::Options& options, const core::SimulationManifest& suite) {
  constexpr std::int64_t kMost = 1 << 20;
  const auto simulations = static_cast<std::int64_t>(suite.simulations.size());
  const auto held_out = [&](const std::string& name) {
    return static_cast<std::uint32_t>(options.given(name) ? options.integer(name, 1, kMost)
                                                          : std::max<std::int64_t>(1, simulations / 10));
  };
  dataset::ShardSettings settings;
  settings.grid = options.given("grid") ? static_cast<int>(options.integer("grid", 1, 1 << 14)) : suite.grid;
  settings.subvolumes = static_cast<int>(options.integer("subvolumes", 1, 6));
  settings.samples_per_shard = static_cast<std::uint32_t>(options.integer("samples-per-shard", 1, kMost));
  settings.validation = held_out("validation");
  settings.test = held_out("test");
  if (options.given("training"))
    settings.training = static_cast<std::uint32_t>(options.integer("training", 1, kMost));
  settings.compression = options.choice("compress", {"none", "gzip"}) == "gzip" ? dataset::Compression::gzip
                                                                                : dataset::Compression::none;
  settings.seed = options.seed("seed");
  settings.redshifts = read_redshifts(options);
  settings.rolls = static_cast<int>(options.integer("rolls", 0, dataset::kMostRolls));
  settings.allow_leak = options.flag("allow-leak");
  return settings;
}

Json summary_of(const DatasetManifest& manifest) {
  Json summary = manifest.details();
  std::uint64_t bytes = 0;
  for (const core::FileRecord& file : manifest.base.files) bytes += file.bytes;
  summary["id"] = manifest.base.request.id();
  summary["bytes"] = bytes;
  return summary;
}

std::string describe(const DatasetManifest& manifest) {
  std::string text =
      fmt::format("{:<11} {:>11} {:>8} {:>7} {:>10}\n", "split", "simulations", "samples", "shards", "size");
  for (const Split split : {Split::train, Split::validation, Split::test}) {
    const dataset::SplitRecord& record = manifest.split(split);
    double bytes = 0;
    for (const std::string& path : record.shards)
      bytes += static_cast<double>(manifest.base.find(path)->bytes);
    text +=
        fmt::format("{:<11} {:>11} {:>8} {:>7} {:>10}\n", dataset::name_of(split), record.simulations.size(),
                    record.samples, record.shards.size(), core::format_bytes(bytes));
  }
  const dataset::SampleSpec& spec = manifest.spec;
  if (spec.rolls > 0) {
    text += fmt::format(
        "rolls       {} of each training universe beside itself: new cuts, no new universes\n", spec.rolls);
  }
  if (spec.redshifts != std::vector<double>{0}) {
    text += fmt::format("redshifts   {}\n", fmt::join(spec.redshifts, ", "));
  }
  const bool counts = spec.kind == dataset::VoxelKind::counts;
  text += fmt::format("sample      {} voxels of {:.6g} {}, {}\n", fmt::join(spec.shape, " × "),
                      spec.voxel_size().value, name_of(spec.box_size.unit),
                      counts ? "uint16 counts" : "a float32 field");
  for (std::size_t p = 0; p < spec.parameters.size(); ++p) {
    text += fmt::format("{:<11} {:g} to {:g}\n", spec.parameters.names[p], spec.parameters.low[p],
                        spec.parameters.high[p]);
  }
  if (!counts) {
    return text + fmt::format("training    voxels from {:.6g} to {:.6g}, mean {:.6g}, deviation {:.6g}\n",
                              manifest.field.minimum, manifest.field.maximum, manifest.field.mean,
                              manifest.field.deviation);
  }
  return text + fmt::format("counts      mean {:.6g}, largest {}, {} of {} particles binned\n",
                            spec.mean_count, manifest.statistics.max_count,
                            manifest.statistics.particles_binned, manifest.statistics.particles_in);
}

/// Disk for the shards that are not there, uncompressed. Collective; throws what opening the directory would.
core::DiskBill disk_of(const core::Invocation& run, const std::string& target, const dataset::ShardPlan& plan,
                       const core::Request& request) {
  const core::Holding there =
      core::OutputDirectory::look(run.comm, target, request, {run.options.flag("force"), {}});
  double needed = 0;
  for (const dataset::PlannedShard& shard : plan.shards) {
    if (there.manifest.find(shard.path) == nullptr)
      needed += static_cast<double>(shard.samples.size()) * plan.sample_bytes();
  }
  return core::disk_bill(run.comm, target, static_cast<std::uint64_t>(needed), there.leaving);
}

/// What a rank has now and allocates for a shard: a sample, a slab of rows of a box or the planes that are
/// summed to one, HDF5's buffers. [bytes]
double memory_of(const dataset::ShardPlan& plan, const dataset::ShardSettings& settings, int suite_grid) {
  const bool summed = settings.grid < suite_grid;
  const double rows =
      2.0 * suite_grid * (summed ? suite_grid / settings.grid * suite_grid : plan.shape.back());
  return static_cast<double>(core::resident_memory()) + plan.sample_bytes() + rows + (8 << 20);
}

void print_plan(const core::Invocation& run, const dataset::ShardPlan& plan, const core::Request& request,
                const core::DiskBill& disk, double memory) {
  const double bytes = static_cast<double>(plan.samples()) * plan.sample_bytes();
  Json summary = {{"dry_run", true},
                  {"id", request.id()},
                  {"config", request.config},
                  {"shape", plan.shape},
                  {"samples", plan.samples()},
                  {"shards", plan.shards.size()},
                  {"disk_bytes", static_cast<std::uint64_t>(bytes)},
                  {"disk_bytes_to_write", disk.needed},
                  {"disk_available_bytes", disk.available},
                  {"memory_bytes_per_rank", memory}};
  std::string text;
  for (const Split split : {Split::train, Split::validation, Split::test}) {
    const std::size_t simulations = plan.split[static_cast<std::size_t>(split)].size();
    const std::size_t samples = plan.samples_of(split);
    summary["splits"][std::string(dataset::name_of(split))] = {{"simulations", simulations},
                                                               {"samples", samples}};
    text += fmt::format("{:<11} {} simulations, {} samples\n", dataset::name_of(split), simulations, samples);
  }
  text += fmt::format("sample      {} voxels\nshards      {}\ndisk        {}{}, {} free\n",
                      fmt::join(plan.shape, " × "), plan.shards.size(), core::format_bytes(bytes),
                      request.config.at("compress") == "gzip" ? " before compression" : "",
                      core::format_bytes(static_cast<double>(disk.available)));
  text += fmt::format("memory      {} a rank\n", core::format_bytes(memory));
  run.report(summary, text);
}

void run_shard(const core::Invocation& run) {
  const core::Timer timer;
  dataset::Suite suite;
  dataset::ShardSettings settings;
  dataset::ShardPlan plan;
  core::Request request{
      .stage = "shard", .config = {}, .inputs = {}, .check = &dataset::check_dataset_manifest};
  std::string target;
  run.comm.agree([&] {
    suite.directory = run.options.text("input");
    target = run.options.text("output");
    suite.manifest = core::load_simulation_manifest(suite.directory);
    settings = read_settings(run.options, suite.manifest);
    plan = plan_shards(suite.manifest, settings);
    request.config = settings.config();
    if (plan.leak) request.config["allow_leak"] = true;
    request.inputs = {core::input_record(suite.directory, suite.manifest.base, target)};
  });
  const core::DiskBill disk = disk_of(run, target, plan, request);
  const bool dry_run = run.options.flag("dry-run");
  core::check_disk(run.log, disk, target, "The shards to write",
                   !dry_run && settings.compression == dataset::Compression::none);
  if (dry_run)
    return print_plan(run, plan, request, disk, run.comm.max(memory_of(plan, settings, suite.manifest.grid)));

  core::OutputDirectory output(run.comm, run.log, target, request, {run.options.flag("force"), {}});
  const bool up_to_date = output.up_to_date();
  if (!up_to_date) {
    const DatasetManifest written = shard_suite(run.comm, run.log, output, suite, plan, settings);
    output.finish(run.tool, written.details(), run.facts);
  }
  const std::uint64_t peak = run.comm.max(core::peak_resident_memory());
  run.comm.agree([&] {
    if (!run.comm.is_root()) return;
    const DatasetManifest manifest = dataset::load_dataset_manifest(target);
    Json summary = summary_of(manifest);
    summary["up_to_date"] = up_to_date;
    summary["peak_rss_bytes"] = peak;
    summary["seconds"] = timer.seconds();
    run.report(summary, up_to_date ? fmt::format("{} is up to date\n", target) : describe(manifest));
  });
}

void declare_directory(core::Options& options) {
  options.add_positional("directory", "directory that cosmo-prep shard wrote");
}

void run_verify(const core::Invocation& run) {
  DatasetManifest manifest;
  run.comm.agree([&] { manifest = dataset::load_to_verify(run.log, run.options.text("directory")); });
  const std::string& directory = run.options.text("directory");
  const dataset::VerifiedDataset found = verify_dataset(run.comm, run.log, directory, manifest);
  run.report({{"verified", true},
              {"id", manifest.base.request.id()},
              {"shards", found.shards},
              {"samples", found.samples},
              {"particles", found.voxels.counts.particles}},
             fmt::format("{}: all {} shards and {} samples are as they were written\n", directory,
                         found.shards, found.samples));
}

void run_describe(const core::Invocation& run) {
  const std::string& directory = run.options.text("directory");
  Json summary;
  std::string text;
  DatasetManifest manifest;
  run.comm.agree([&] {
    manifest = dataset::load_dataset_manifest(directory);
    summary = summary_of(manifest);
    text = describe(manifest);
    add_provenance(directory, manifest, summary, text);
  });
  add_picture(run, directory, manifest, summary, text);
  run.report(summary, text);
}

}  // namespace

int main(int argc, char** argv) {
  return core::run_tool(
      argc, argv,
      {"cosmo-prep",
       "training data from the counts of a suite",
       {},
       {{"shard", "cuts, splits and shards a suite's counts",
         "mpirun -n 2 cosmo-prep shard --input sim --validation 8 --test 8 --output data", true,
         core::OnStop::save, &declare_shard, &run_shard},
        {"histogram", "counts the particles of a snapshot, whoever wrote it",
         "cosmo-prep histogram --input snapdir_004 --grid 256 --output counts", true, core::OnStop::save,
         &dataset::declare_histogram, &dataset::run_histogram, &dataset::histogram_files},
        {"verify", "reads every sample of a dataset and compares all checksums", "cosmo-prep verify data",
         false, core::OnStop::end, &declare_directory, &run_verify},
        {"describe", "prints splits, shapes, parameter ranges, statistics and origin; draws samples",
         "cosmo-prep describe data --png data.png", false, core::OnStop::end, &dataset::declare_describe,
         &run_describe},
        {"export", "writes a dataset's samples as .npy or TFRecord files, for other programs",
         "cosmo-prep export --input data --format tfrecord --output data-tf", true, core::OnStop::save,
         &dataset::declare_export, &dataset::run_export},
        {"import", "makes a dataset of .npy or TFRecord files, ours or others'",
         "cosmo-prep import --input data-tf --format tfrecord --output data-again", true, core::OnStop::save,
         &dataset::declare_import, &dataset::run_import}}});
}
