// Cost of synchronous training with several ways of reducing gradients, compared with ranks that train on
// their own. All ways take turns in one run, since a machine's speed varies more between runs than they
// differ.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "core/median.hpp"
#include "core/random.hpp"
#include "core/run/tool.hpp"
#include "core/timer.hpp"
#include "nn/initialise.hpp"
#include "nn/output/labels.hpp"
#include "nn/zoo/zoo.hpp"
#include "train/gradient/gradient_reducer.hpp"
#include "train/optimizer/larc_adam.hpp"
#include "train/plan/number_formats.hpp"

namespace {

using namespace cosmo;

constexpr int kOutputs = 3;

/// A way of reducing gradients during a step.
struct Way {
  std::string name;
  std::function<void(std::span<float>)> ready;
  std::function<void()> finish;
  std::function<train::ReductionTimes()> times;
};

/// Sums in the calling thread, once all ranks have called.
class BlockingSum {
 public:
  BlockingSum(const core::Communicator& comm, train::WireFormat wire) : comm_(comm), sum_(comm, wire) {}

  void operator()(std::span<float> values) {
    core::Timer timer;
    comm_.barrier();
    times.waiting += timer.restart();
    sum_(values);
    times.reducing += timer.seconds();
    times.exposed = times.reducing;
  }

  train::ReductionTimes times;

 private:
  const core::Communicator& comm_;
  train::GradientSum sum_;
};

Way independent() {
  return {"independent", [](std::span<float>) {}, [] {}, [] { return train::ReductionTimes(); }};
}

/// No reduction, only a barrier: the cost of other ranks' delays.
Way barrier(BlockingSum& sum) {
  return {"barrier", [](std::span<float>) {}, [&sum] { sum({}); }, [&sum] { return sum.times; }};
}

Way at_the_end(std::string name, BlockingSum& sum, std::span<float> arena) {
  return {std::move(name), [](std::span<float>) {}, [&sum, arena] { sum(arena); },
          [&sum] { return sum.times; }};
}

Way in_buckets(BlockingSum& sum, train::GradientBuckets& buckets) {
  return {"buckets",
          [&](std::span<float> part) {
            if (const auto bucket = buckets.add(part)) sum(*bucket);
          },
          [&] { buckets.restart(); }, [&sum] { return sum.times; }};
}

Way on_a_thread(std::string name, train::GradientReducer& reducer) {
  return {std::move(name), [&reducer](std::span<float> part) { reducer.ready(part); },
          [&reducer] { reducer.finish(); }, [&reducer] { return reducer.times(); }};
}

/// A rank's delays, exponentially distributed.
class Delays {
 public:
  Delays(double mean, int rank) : mean_(mean), rank_(static_cast<std::uint32_t>(rank)) {}

  void sleep() {
    if (mean_ == 0) return;
    const double uniform = stream_.uniform({rank_, count_++, 0});
    std::this_thread::sleep_for(std::chrono::duration<double>(-mean_ * std::log1p(-uniform)));
  }

 private:
  double mean_;  ///< [s]
  std::uint32_t rank_;
  std::uint32_t count_ = 0;
  core::RandomStream stream_{2, core::Purpose::gaussian_field};
};

/// A network that is trained on noise.
class Training {
 public:
  Training(const nn::NetworkSpec& spec, nn::Shape input, Delays delays)
      : delays_(delays),
        network_(spec, input, kOutputs, 1, nn::Mode::training,
                 train::NumberFormats::arithmetic_of(spec, nn::take_census(spec, input, kOutputs), 1,
                                                     nn::Precision::f32, nn::ConvolutionMethod::automatic)) {
    nn::initialise(network_, 1);
    train::LarcAdamConfig config;
    config.learning_rate.decay_steps = 1000;
    optimizer_.emplace(network_.parameters(), config);
    const core::RandomStream stream(1, core::Purpose::gaussian_field);
    std::uint32_t i = 0;
    for (float& voxel : network_.input()) voxel = static_cast<float>(stream.normals({i++, 0, 0})[0]);
  }

  std::span<float> gradients() { return network_.gradients(); }

  void step(const Way& way) {
    delays_.sleep();
    const nn::Labels labels{kOutputs, nn::LabelError::absolute};
    labels.loss({d_output_, network_.forward(), targets_}, {1, 1});
    network_.backward(d_output_, way.ready);
    way.finish();
    optimizer_->step(steps_++ % 1000);
  }

 private:
  Delays delays_;
  nn::Network network_;
  std::optional<train::LarcAdam> optimizer_;
  std::vector<float> targets_ = std::vector<float>(kOutputs, 0.25f);
  std::vector<float> d_output_ = std::vector<float>(kOutputs);
  std::int64_t steps_ = 0;
};

/// Results of one way over the rounds.
struct Record {
  std::vector<double> step_seconds;  ///< number of ranks / (steps per second of all ranks together)
  train::ReductionTimes start;       ///< times before the rounds
};

void declare(core::Options& options) {
  options.add("network NAME", "cosmoflow", "network of the zoo");
  options.add("size N", "128", "voxels per side");
  options.add(
      "way", std::nullopt,
      "way to compare with independent ranks: barrier (no reduction), end (one blocking all-reduce), buckets "
      "(blocking ones during backward), thread (as in cosmo-train), end-bf16, thread-bf16 [all]",
      {"barrier", "end", "buckets", "thread", "end-bf16", "thread-bf16"});
  options.add("delay X", "0",
              "mean of the exponentially distributed sleep at the start of a rank's steps, ms");
  options.add("rounds N", "7", "rounds in which every way has its turn; the median counts");
  options.add("steps N", "4", "steps per turn");
}

/// Number of ranks divided by the sum of their rates. [s]
double turn(const core::Communicator& comm, Training& training, const Way& way, int steps) {
  comm.barrier();
  const core::Timer timer;
  for (int i = 0; i < steps; ++i) training.step(way);
  const double rate = steps / timer.seconds();
  return comm.size() / comm.sum(rate);
}

core::Json to_json(const core::Communicator& comm, const Way& way, const Record& record, const Record& alone,
                   int steps) {
  const train::ReductionTimes times = way.times();
  const auto mean = [&](double train::ReductionTimes::*member) {
    return comm.sum(times.*member - record.start.*member) / comm.size() / steps;
  };
  std::vector<double> ratios;
  for (std::size_t i = 0; i < alone.step_seconds.size(); ++i)
    ratios.push_back(alone.step_seconds[i] / record.step_seconds[i]);
  const double reducing = mean(&train::ReductionTimes::reducing);
  const double exposed = mean(&train::ReductionTimes::exposed);
  return {{"step_ms", 1e3 * core::median(record.step_seconds)},
          {"throughput_ratio", core::median(ratios)},
          {"waiting_ms", 1e3 * mean(&train::ReductionTimes::waiting)},
          {"reducing_ms", 1e3 * reducing},
          {"exposed_ms", 1e3 * exposed},
          {"hidden_share", reducing > 0 ? 1 - exposed / reducing : 0}};
}

void run_benchmark(const core::Invocation& run) {
  const core::Communicator& comm = run.comm;
  const int size = static_cast<int>(run.options.integer("size", 1, 1024));
  const int rounds = static_cast<int>(run.options.integer("rounds", 1, 1000));
  const int steps = static_cast<int>(run.options.integer("steps", 1, 1000));
  const double delay = 1e-3 * run.options.number("delay");
  core::ensure(delay >= 0, core::Fault::config, "Option --delay is negative: give milliseconds.");
  Training training(nn::with_outputs(nn::find_network(run.options.text("network")), kOutputs), {1, size},
                    Delays(delay, comm.rank()));
  const std::span<float> gradients = training.gradients();
  constexpr auto kF32 = train::WireFormat::f32, kBf16 = train::WireFormat::bf16;
  BlockingSum meet(comm, kF32), end_sum(comm, kF32), end_sum_bf16(comm, kBf16), bucket_sum(comm, kF32);
  train::GradientBuckets buckets(gradients);
  train::GradientReducer thread(comm, gradients, 1, kF32), thread_bf16(comm, gradients, 1, kBf16);
  std::vector<Way> ways = {independent(),
                           barrier(meet),
                           at_the_end("end", end_sum, gradients),
                           at_the_end("end-bf16", end_sum_bf16, gradients),
                           in_buckets(bucket_sum, buckets),
                           on_a_thread("thread", thread),
                           on_a_thread("thread-bf16", thread_bf16)};
  if (run.options.given("way")) {
    const std::string& chosen = run.options.choice("way");
    std::erase_if(ways, [&](const Way& way) { return way.name != "independent" && way.name != chosen; });
  }
  std::vector<Record> records(ways.size());
  for (std::size_t w = 0; w < ways.size(); ++w) {
    (void)turn(comm, training, ways[w], 1);  // the first time is slower
    records[w].start = ways[w].times();
  }
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t w = 0; w < ways.size(); ++w)
      records[w].step_seconds.push_back(turn(comm, training, ways[w], steps));
  }

  core::Json summary = {{"ranks", comm.size()}, {"threads", run.threads}};
  std::string text = fmt::format(
      "{} ranks x {} threads, {:.2f} MB of gradients; medians of {} rounds of {} steps\n", comm.size(),
      run.threads, 4e-6 * static_cast<double>(training.gradients().size()), rounds, steps);
  text += fmt::format("{:<16}{:>9}{:>12}{:>12}{:>13}{:>12}{:>10}\n", "", "step ms", "throughput",
                      "waiting ms", "reducing ms", "exposed ms", "hidden");
  for (std::size_t w = 0; w < ways.size(); ++w) {
    const core::Json line = to_json(comm, ways[w], records[w], records[0], rounds * steps);
    const auto value = [&](const char* key) { return line.at(key).get<double>(); };
    text += fmt::format("{:<16}{:>9.1f}{:>12.3f}{:>12.2f}{:>13.2f}{:>12.2f}{:>9.1f}%\n", ways[w].name,
                        value("step_ms"), value("throughput_ratio"), value("waiting_ms"),
                        value("reducing_ms"), value("exposed_ms"), 100 * value("hidden_share"));
    summary[ways[w].name] = line;
  }
  run.report(summary, text);
}

}  // namespace

int main(int argc, char** argv) {
  return core::run_tool(
      argc, argv,
      {"bench-reduction",
       "ways of summing gradients over ranks, compared with ranks that train on their own",
       {nn::library_version()},
       {{"", "times training steps on noise", "mpirun -n 2 --bind-to core bench-reduction --threads 1", false,
         core::OnStop::end, &declare, &run_benchmark}}});
}
