// cosmo-train: a network that reads cosmological parameters off particle counts.

#include <memory>
#include <optional>

#include "core/error.hpp"
#include "core/memory.hpp"
#include "core/output_directory.hpp"
#include "core/stop_signals.hpp"
#include "core/timer.hpp"
#include "core/tool.hpp"
#include "dataset/read_report.hpp"
#include "dataset/staging.hpp"
#include "train/benchmark.hpp"
#include "train/memory_check.hpp"
#include "train/model_directory.hpp"
#include "train/nn/initialise.hpp"
#include "train/nn/network.hpp"
#include "train/nn/summary.hpp"
#include "train/nn/zoo/zoo.hpp"
#include "train/peak.hpp"
#include "train/trainer.hpp"
#include "train/training_plan.hpp"

namespace {

using namespace cosmo;
using core::Fault;
using core::Json;

void declare(core::Options& options) {
  train::declare_training(options);
  options.add("readers", "1", "threads of a rank that read ahead of the training; 0: none");
  options.add("stage", std::nullopt,
              "directory on a fast local disk; each node copies the shards there first and reads them there");
  options.add(
      "mllog", std::nullopt,
      "file for MLPerf's log of this run, outside its directories; an earlier log is replaced [none]");
  options.add_flag("benchmark", "time training steps on synthetic data instead; needs no --data or --output");
  options.add("size", std::nullopt, "voxels a side for --benchmark [what the network is meant for]");
  options.add("channels", std::nullopt,
              "counts a voxel for --benchmark [what the network is meant for: mlperf 4, others 1]");
}

/// Network, gradients and the optimizer's moments [bytes].
std::int64_t memory_bytes(const nn::NetworkSpec& spec, nn::Shape input, int outputs, int batch, int moments,
                          nn::Precision precision, const nn::NetworkCensus& census) {
  const std::size_t network =
      nn::Network::planned_bytes(spec, input, outputs, batch, nn::Mode::training, precision);
  return static_cast<std::int64_t>(network) +
         moments * static_cast<std::int64_t>(sizeof(float)) * census.parameters();
}

/// Where the MLPerf log goes; empty for none, and on all ranks but one. Throws Error if it would destroy
/// something.
std::string mlperf_path(const core::Invocation& run) {
  if (!run.comm.is_root() || !run.options.given("mllog")) return "";
  std::vector<train::RunDirectory> directories;
  for (const char* option : {"data", "output", "stage"}) {
    if (run.options.given(option)) directories.push_back({option, run.options.text(option)});
  }
  train::check_log_path(run.options.text("mllog"), directories);
  return run.options.text("mllog");
}

/// Tells what runs the network, and warns of what is slow.
void announce(const core::Log& log, std::span<const nn::OperationRecord> operations) {
  log.info("{}", nn::describe(operations));
  const std::string slow = nn::slow_operations(operations);
  if (!slow.empty()) log.warn("oneDNN has only slow code here for {}.", slow);
}

/// The benchmark that the options ask for: by default of the data that the network is meant for.
train::BenchmarkConfig read_benchmark(const core::Options& options) {
  nn::NetworkEntry meant{"", nullptr, "", 1, 128, 3};
  for (const nn::NetworkEntry& entry : nn::networks()) {
    if (entry.name == options.text("network")) meant = entry;
  }
  const auto read = [&](const char* name, int otherwise, int most) {
    return options.given(name) ? static_cast<int>(options.integer(name, 1, most)) : otherwise;
  };
  train::BenchmarkConfig config{nn::with_outputs(train::read_network(options), meant.outputs),
                                {read("channels", meant.channels, 1024), read("size", meant.size, 1024)},
                                meant.outputs,
                                read("micro-batch", 1, 1 << 16),
                                nn::find_precision(options.choice("precision", {"f32", "bf16"}))};
  (void)nn::take_census(config.network, config.input, config.outputs);
  return config;
}

void run_benchmark(const core::Invocation& run) {
  constexpr int kMoments = 2;
  train::BenchmarkConfig config;
  run.comm.agree([&] { config = read_benchmark(run.options); });
  const nn::NetworkCensus census = nn::take_census(config.network, config.input, config.outputs);
  const std::int64_t memory = memory_bytes(config.network, config.input, config.outputs, config.batch,
                                           kMoments, config.precision, census);
  if (run.options.flag("dry-run")) {
    return run.report({{"parameters", census.parameters()},
                       {"weights", census.weights()},
                       {"memory_bytes_per_rank", memory}},
                      nn::describe(config.network, census));
  }
  run.log.info("{}", nn::describe(config.network, census));
  train::ensure_memory(run.comm, memory);
  const train::BenchmarkResult result = train::benchmark(run.comm, config, run.threads);
  announce(run.log, result.operations);
  run.report(
      result.to_json(),
      fmt::format(
          "{}\n{:.1f} ms a step of {} x {} samples, {:.1f} useful Gflop/s, {:.0f} % of the measured peak of "
          "{:.0f} Gflop/s ({}), {} resident\n",
          result.tables(), result.step_time * 1e3, result.ranks, result.batch, result.useful_rate() / 1e9,
          100 * result.useful_rate() / result.peak, result.peak / 1e9, result.peak_unit,
          core::format_bytes(result.peak_rss)));
}

nn::ModelManifest manifest_of(const train::TrainingPlan& plan, const dataset::DatasetManifest& data) {
  const dataset::VoxelTransform transform = dataset::find_voxel_transform(plan.voxels, data.spec.mean_count);
  nn::ModelManifest model{};
  model.network = plan.network;
  model.precision = plan.precision;
  model.input = plan.input;
  model.parameters = data.spec.parameters;
  model.normalisation = {transform.name, transform.offset, transform.scale, data.spec.voxel_size(),
                         data.spec.mean_count};
  model.validation.universes = static_cast<int>(data.split(dataset::Split::validation).simulations.size());
  model.validation.subvolumes = static_cast<int>(data.subvolumes);
  return model;
}

/// Sets the start state: the last checkpoint's, or fresh weights. Collective.
void start(const core::Invocation& run, const train::TrainingPlan& plan, const core::FileRecord* checkpoint,
           std::int64_t steps_per_epoch, train::TrainingState& state) {
  run.comm.agree([&] {
    core::ensure(!run.options.flag("resume") || checkpoint != nullptr, Fault::config,
                 "{} holds no training to --resume: leave the option out to begin one.", plan.output);
    if (checkpoint == nullptr) return nn::initialise(state.network, plan.seed);
    core::check_content(plan.output, *checkpoint);
    state.progress =
        train::read_checkpoint(std::filesystem::path(plan.output) / checkpoint->path, plan.network,
                               state.network, state.optimizer, static_cast<std::size_t>(plan.outputs));
    core::ensure(state.progress.epoch <= plan.epochs, Fault::config,
                 "{} has {} epochs already: give at least as many --epochs.", plan.output,
                 state.progress.epoch);
    const std::int64_t into_epoch = state.progress.step - state.progress.epoch * steps_per_epoch;
    core::ensure(into_epoch >= 0 && into_epoch <= steps_per_epoch, Fault::format,
                 "{} is of step {}, which is not after {} epochs of {} steps: restore the file.",
                 checkpoint->path, state.progress.step, state.progress.epoch, steps_per_epoch);
  });
  if (checkpoint != nullptr)
    run.log.info("continuing after {}", train::describe(state.progress, steps_per_epoch));
}

constexpr int kCheckpoints = 3;                 ///< the best, the last, and the next while it is written
constexpr double kSavedBytesPerSecond = 100e6;  ///< a guess, of a slow disk, until a checkpoint was saved

std::int64_t checkpoint_bytes(const train::TrainingPlan& plan, const nn::NetworkCensus& census) {
  return (1 + train::moments_of_optimizer(plan)) * static_cast<std::int64_t>(sizeof(float)) *
         census.parameters();
}

/// How a rank reads the splits.
struct LoaderConfigs {
  dataset::LoaderConfig training;
  dataset::LoaderConfig validation;
};

LoaderConfigs loaders_of(const core::Communicator& comm, const train::TrainingPlan& plan, int readers) {
  const int rank = comm.rank(), ranks = comm.size();
  return {{.rank = rank,
           .ranks = ranks,
           .global_batch = plan.global_batch,
           .micro_batch = plan.micro_batch,
           .seed = plan.seed,
           .shuffle = true,
           .augment = plan.augment,
           .readers = readers},
          {.rank = rank,
           .ranks = ranks,
           .global_batch = plan.micro_batch * ranks,
           .micro_batch = plan.micro_batch,
           .readers = readers,
           .spare = 0}};
}

constexpr std::int64_t kLibraries = 8 << 20;  ///< of HDF5 and MPI, loaded where first used [bytes]

/// What a rank has now and what it will load and allocate for the training [bytes].
std::int64_t memory_of_training(const train::TrainingPlan& plan, const dataset::SampleSpec& spec,
                                const nn::NetworkCensus& census, const LoaderConfigs& loaders) {
  const bool accumulates = plan.micro_batches_per_step(loaders.training.ranks) > 1;
  const int arenas = train::moments_of_optimizer(plan) + (accumulates ? 1 : 0);
  const std::int64_t network = memory_bytes(plan.network, plan.input, plan.outputs, plan.micro_batch, arenas,
                                            nn::find_precision(plan.precision), census);
  return network + kLibraries +
         static_cast<std::int64_t>(core::resident_memory() +  // with oneDNN, which planned the network
                                   dataset::DataLoader::memory_bytes(spec, loaders.training) +
                                   dataset::DataLoader::memory_bytes(spec, loaders.validation));
}

Json summary_of(const train::TrainingPlan& plan, const core::Request& request,
                const nn::NetworkCensus& census, std::int64_t memory, int ranks) {
  return {{"output", plan.output},           {"id", request.id()},
          {"network", plan.network.name},    {"parameters", census.parameters()},
          {"epochs", plan.epochs},           {"global_batch", plan.global_batch},
          {"micro_batch", plan.micro_batch}, {"micro_batches_per_step", plan.micro_batches_per_step(ranks)},
          {"memory_bytes_per_rank", memory}, {"disk_bytes", kCheckpoints * checkpoint_bytes(plan, census)}};
}

/// The data that a training reads; members refer to earlier ones.
struct Splits {
  std::optional<dataset::SplitReader> training;
  std::optional<dataset::SplitReader> validation;
  std::optional<dataset::DataLoader> training_loader;
  std::optional<dataset::DataLoader> validation_loader;
};

/// Opens both splits in `directory`; ranks check the shards' content together. Collective.
void open_splits(const core::Communicator& comm, const train::TrainingPlan& plan,
                 const std::filesystem::path& directory, const dataset::DatasetManifest& data,
                 const LoaderConfigs& loaders, Splits& splits) {
  const int rank = comm.rank(), ranks = comm.size();
  const dataset::VoxelTransform transform = dataset::find_voxel_transform(plan.voxels, data.spec.mean_count);
  comm.agree([&] {
    splits.training.emplace(directory, data, dataset::Split::train, rank, ranks);
    splits.validation.emplace(directory, data, dataset::Split::validation, rank, ranks);
    splits.training_loader.emplace(*splits.training, transform, loaders.training);
    splits.validation_loader.emplace(*splits.validation, transform, loaders.validation);
  });
}

/// Samples of all epochs that are still to be trained on.
std::int64_t samples_to_train(const train::TrainingPlan& plan, const train::TrainingProgress& progress,
                              const Splits& splits) {
  const std::int64_t samples = splits.training->size();
  const std::int64_t steps = progress.step - progress.epoch * splits.training_loader->steps_per_epoch();
  return samples * (plan.epochs - progress.epoch) - std::min(samples, steps * plan.global_batch);
}

/// Tells how far a training has come. `best`: null before an epoch is finished.
void report(const core::Invocation& run, const train::TrainingPlan& plan,
            const train::TrainingProgress& progress, const train::EpochMetrics* best, train::Ending ending,
            const train::TrainingMonitor& monitor, const dataset::ReadReport& reading,
            const train::StragglerReport& stragglers, Json summary) {
  summary.update(reading.to_json());
  summary.update({{"epochs_done", progress.epoch},
                  {"steps_done", progress.step},
                  {"complete", ending == train::Ending::complete},
                  {"best_epoch", best ? Json(best->epoch) : Json()},
                  {"validation_loss", best ? Json(best->validation_loss) : Json()}});
  std::string text = fmt::format("{}: {} of {} epochs, ", plan.output, progress.epoch, plan.epochs);
  if (best)
    text += fmt::format("best validation loss {:.4f} after epoch {}, ", best->validation_loss, best->epoch);
  text += core::format_duration(summary.at("seconds").get<double>()) + "\n" + monitor.describe() + "\n" +
          reading.describe() + stragglers.describe();
  if (ending != train::Ending::complete) {
    text += fmt::format("stopped {} after step {}, which is saved: the same command goes on from there\n",
                        ending == train::Ending::asked ? "as asked" : "before the time limit", progress.step);
  }
  run.report(summary, text);
}

void run_training(const core::Invocation& run) {
  const core::Timer run_time;
  const core::StopSignals signals;
  dataset::DatasetManifest data;
  train::TrainingPlan plan;
  int readers = 1;
  std::string log_path;
  run.comm.agree([&] {
    log_path = mlperf_path(run);
    readers = static_cast<int>(run.options.integer("readers", 0, 64));
    data = dataset::load_dataset_manifest(run.options.text("data"));
    plan = train::read_training_plan(run.options, data, run.comm.size());
  });
  core::Request request;
  run.comm.agree([&] { request = train::request_of(plan, data); });
  const nn::NetworkCensus census = nn::take_census(plan.network, plan.input, plan.outputs);
  const LoaderConfigs loaders = loaders_of(run.comm, plan, readers);
  Json summary = summary_of(plan, request, census, memory_of_training(plan, data.spec, census, loaders),
                            run.comm.size());
  const std::string outline = fmt::format(
      "{} epochs of {} samples in steps of {}, {} at once on each of {} ranks x {} threads; about {} of "
      "memory a rank\n",
      plan.epochs, data.split(dataset::Split::train).samples, plan.global_batch, plan.micro_batch,
      run.comm.size(), run.threads, core::format_bytes(summary.at("memory_bytes_per_rank").get<double>()));
  if (run.options.flag("dry-run")) return run.report(summary, nn::describe(plan.network, census) + outline);

  core::Overwrite overwrite{.force = run.options.flag("force")};
  overwrite.remedy = "--resume to continue it to more --epochs with all else equal, or --force to replace it";
  if (run.options.flag("resume")) overwrite.extendable = {"epochs"};
  overwrite.precious = train::ModelDirectory::kCheckpoints;
  core::OutputDirectory output(run.comm, run.log, plan.output, request, overwrite);
  summary["up_to_date"] = output.up_to_date();
  if (output.up_to_date()) return run.report(summary, fmt::format("{} is up to date\n", plan.output));
  run.log.info("{}{}", nn::describe(plan.network, census), outline);
  train::ensure_memory(run.comm, summary.at("memory_bytes_per_rank").get<std::int64_t>());
  if (!plan.decay_at.empty() && plan.decay_at.back() >= plan.epochs) {
    run.log.warn("--decay-at {} is not before the end of {} epochs: the learning rate does not drop there.",
                 plan.decay_at.back(), plan.epochs);
  }

  std::optional<train::MlperfLog> mlperf;
  run.comm.agree([&] { mlperf.emplace(log_path); });
  mlperf->start("init");
  train::log_settings(*mlperf, plan, data, run.comm.size(), run.facts.at("host").get<std::string>());
  mlperf->stop("init");
  mlperf->start("run");

  std::filesystem::path directory_of_shards = plan.data;
  if (run.options.given("stage")) {
    mlperf->start("staging");
    directory_of_shards =
        dataset::stage_shards(run.comm, run.log, plan.data, data,
                              {dataset::Split::train, dataset::Split::validation}, run.options.text("stage"));
    mlperf->stop("staging");
  }
  Splits splits;
  open_splits(run.comm, plan, directory_of_shards, data, loaders, splits);
  const nn::Precision precision = nn::find_precision(plan.precision);
  nn::Network network(plan.network, plan.input, plan.outputs, plan.micro_batch, nn::Mode::training,
                      precision);
  announce(run.log, network.operations());
  const std::unique_ptr<train::Optimizer> optimizer =
      train::make_optimizer(plan, network.parameters(), splits.training_loader->steps_per_epoch());
  train::TrainingState state{network, *optimizer, {}, {}};
  train::ModelDirectory directory(run.comm, output, manifest_of(plan, data));
  start(run, plan, directory.last_checkpoint(), splits.training_loader->steps_per_epoch(), state);
  const train::TrainingSpeed speed{static_cast<double>(census.useful_flop()),
                                   run.comm.sum(train::measure_peak(run.threads, precision).rate)};
  train::TrainingMonitor monitor(run.log, *mlperf, speed, samples_to_train(plan, state.progress, splits));
  const auto save = [&] {
    Json facts = run.facts;
    facts["training"] = monitor.to_json();
    directory.save(state, plan.epochs, facts);
  };
  if (state.progress.epoch == plan.epochs)
    save();  // it was stopped, or a file was lost, after the last epoch

  const core::Timer training_time;
  const train::Interruptions interruptions{
      [&] { return signals.received(); }, run_time, plan.time_limit, plan.checkpoint_interval,
      static_cast<double>(checkpoint_bytes(plan, census)) / kSavedBytesPerSecond};
  const train::Ending ending =
      train::train(run.comm, monitor,
                   {plan.epochs, nn::find_loss(plan.loss), plan.seed,
                    plan.micro_batches_per_step(run.comm.size()), plan.wire, interruptions},
                   {*splits.training,
                    *splits.training_loader,
                    {*splits.validation, *splits.validation_loader, data.spec.parameters}},
                   state, save);
  mlperf->stop_run(ending == train::Ending::complete);
  dataset::ReadStatistics reading = splits.training_loader->statistics();
  reading += splits.validation_loader->statistics();
  const dataset::ReadReport read_report =
      dataset::report_reading(run.comm, reading, readers, training_time.seconds());
  const train::StragglerReport stragglers = train::report_stragglers(run.comm, state.times);
  summary["seconds"] = run_time.seconds();
  summary.update(monitor.to_json());
  summary.update(stragglers.to_json());
  summary["peak_rss_bytes"] = run.comm.max(core::peak_resident_memory());
  report(run, plan, state.progress, directory.best_kept(state.progress), ending, monitor, read_report,
         stragglers, summary);
}

void run_train(const core::Invocation& run) {
  if (run.options.flag("benchmark")) return run_benchmark(run);
  run_training(run);
}

}  // namespace

int main(int argc, char** argv) {
  return core::run_tool(
      argc, argv,
      {"cosmo-train",
       "a network that reads cosmological parameters off particle counts",
       {nn::library_version()},
       {{"", "trains a network on the shards that cosmo-prep wrote",
         "mpirun -n 2 cosmo-train --data data --output model --network cosmoflow32 --epochs 80", true,
         &declare, &run_train}}});
}
