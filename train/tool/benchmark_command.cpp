#include "train/tool/benchmark_command.hpp"

#include "core/error.hpp"
#include "core/parallel/stop_signals.hpp"
#include "core/run/dry_run.hpp"
#include "dataset/load/sample_groups.hpp"
#include "nn/network.hpp"
#include "nn/summary.hpp"
#include "nn/zoo/zoo.hpp"
#include "train/benchmark/benchmark.hpp"
#include "train/benchmark/memory_check.hpp"
#include "train/plan/network_choice.hpp"
#include "train/plan/number_formats.hpp"
#include "train/plan/training_memory.hpp"
#include "train/tool/training_report.hpp"

namespace cosmo::train {

namespace {

/// The benchmark that the options request, by default for the data that the network is meant for.
BenchmarkConfig read_benchmark(const core::Options& given, int ranks) {
  const core::Options options = given.with_defaults({{"network", "cosmoflow"}});
  nn::NetworkEntry meant{"", nullptr, "", 1, 128, 3};
  for (const nn::NetworkEntry& entry : nn::networks()) {
    if (entry.name == options.text("network")) meant = entry;
  }
  const auto read = [&](const char* name, int otherwise, int most) {
    return options.given(name) ? static_cast<int>(options.integer(name, 1, most)) : otherwise;
  };
  BenchmarkConfig config{nn::with_outputs(NetworkChoice::read_named(options), meant.outputs),
                         {read("channels", meant.channels, 1024), read("size", meant.size, 1024)},
                         meant.outputs,
                         read("micro-batch", 1, 1 << 16),
                         {},
                         {},
                         options.entry("deterministic", kSumOrders).value,
                         options.number("benchmark")};
  core::ensure(config.duration >= 0, core::Fault::config, "Option --benchmark is negative: give seconds.");
  const bool reproducible = config.order == SumOrder::reproducible;
  core::ensure(!reproducible || config.batch == 1, core::Fault::config,
               "--deterministic any computes one sample at a time, not {}: leave out --micro-batch.",
               config.batch);
  const nn::NetworkCensus census = nn::take_census(config.network, config.input, config.outputs);
  config.cut = read_cut(options, config.network, census, config.input, ranks, config.order);
  config.arithmetic =
      NumberFormats::read(options, config.network, census, config.batch, config.order).arithmetic;
  return config;
}

}  // namespace

void declare_benchmark(core::Options& options) {
  options.begin_group("Benchmark");
  options.add(
      "benchmark [SECONDS]", "3",
      "time training steps on synthetic data instead, for SECONDS or 7 steps, whichever is longer; of the options "
      "above, only --network, --micro-batch, --precision, --convolution, --dropout, --ranks-per-sample and "
      "--deterministic apply");
  options.add("size N", std::nullopt, "voxels per side for --benchmark [the network's intended size]");
  options.add("channels N", std::nullopt,
              "counts per voxel for --benchmark [the network's intended number: mlperf 4, others 1]");
}

void check_purpose(const core::Options& options) {
  if (options.chosen("benchmark")) {
    return options.refuse_all_but(
        {"benchmark", "peer-timeout", "size", "channels", "network", "dropout", "micro-batch", "precision",
         "convolution", "ranks-per-sample", "deterministic", "dry-run", "config", "threads", "json", "quiet"},
        "--benchmark");
  }
  for (const char* name : {"size", "channels"}) {
    core::ensure(!options.chosen(name), core::Fault::usage,
                 "Option --{} applies only with --benchmark: leave it out.", name);
  }
}

void run_benchmark(const core::Invocation& run) {
  constexpr int kMoments = 2;
  core::obey_stop_signals();
  BenchmarkConfig config;
  run.comm.agree([&] { config = read_benchmark(run.options, run.comm.size()); });
  const dataset::SampleGroups ranks(run.comm, config.cut.ranks_per_sample);
  const std::optional<nn::Share> share = config.cut.share(ranks.group);
  const nn::NetworkCensus census = nn::take_census(config.network, config.input, config.outputs);
  const int planes =
      share ? config.cut.plan->inputs()[static_cast<std::size_t>(share->rank)].size() : config.input.size;
  const std::int64_t voxels = config.batch * config.input.elements() / config.input.size * planes *
                              static_cast<std::int64_t>(sizeof(float));
  const std::int64_t memory =
      run.comm.max(rank_memory() + voxels +
                   network_memory(config.network, config.input, config.outputs, config.batch, kMoments,
                                  config.arithmetic, share ? &*share : nullptr) +
                   reduction_memory(config.order, WireFormat::f32, census, run.comm.size(), 1));
  const std::string outline =
      nn::describe(config.network, census) + (config.cut.plan ? config.cut.plan->describe() : "");
  if (run.options.flag("dry-run")) {
    core::Json facts = {{"parameters", census.parameters()},
                        {"weights", census.weights()},
                        {"memory_bytes_per_rank", memory},
                        {"refusals", core::Json::array()}};
    if (config.cut.plan) facts["cut"] = config.cut.plan->to_json();
    core::refuse_or_report(run, facts["refusals"], [&] { ensure_memory(run.comm, memory); });
    return run.report(facts, fmt::format("{}about {} of memory per rank\n", outline,
                                         core::format_bytes(static_cast<double>(memory))));
  }
  run.log.info("{}", outline);
  ensure_memory(run.comm, memory);
  const BenchmarkResult result = benchmark(ranks, config, run.threads);
  announce(run.log, result.operations);
  announce_unfiltered(run.log, run.options.entry("convolution", nn::kConvolutionMethods).value,
                      config.network, census);
  run.report(result.to_json(),
             fmt::format("{}\n{:.1f} ms per step of {} x {} samples, {:.1f} useful Gflop/s, {:.0f} % of the "
                         "measured peak of {:.0f} Gflop/s ({}), {} resident\n",
                         result.tables(), result.step_time * 1e3, result.groups(), result.batch,
                         result.useful_rate() / 1e9, 100 * result.useful_rate() / result.peak,
                         result.peak / 1e9, result.peak_unit, core::format_bytes(result.peak_rss)));
}

}  // namespace cosmo::train
