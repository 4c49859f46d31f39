#include "train/benchmark/benchmark.hpp"

#include <algorithm>

#include "core/buffer.hpp"
#include "core/machine/memory.hpp"
#include "core/median.hpp"
#include "core/random.hpp"
#include "core/timer.hpp"
#include "nn/initialise.hpp"
#include "nn/output/labels.hpp"
#include "train/benchmark/peak.hpp"
#include "train/gradient/gradient_reducer.hpp"
#include "train/optimizer/larc_adam.hpp"

namespace cosmo::train {

namespace {

using nn::OperationKind;
using nn::OperationRecord;

constexpr int kWarmUp = 2;
constexpr int kFewest = 7;    ///< timed steps
constexpr int kProfiled = 5;  ///< steps whose operations are timed

/// Durations of the parts of a step on this rank [s].
struct StepTimes {
  double input, forward, loss, backward, waiting, communication, optimizer;
  double exchanging;  ///< within forward and backward

  double total() const { return input + forward + loss + backward + waiting + communication + optimizer; }
};

/// Steps of a training on random voxels.
class SyntheticTraining {
 public:
  SyntheticTraining(const dataset::SampleGroups& ranks, const BenchmarkConfig& config)
      : ranks_(ranks),
        share_(config.cut.share(ranks_.group)),
        network_(config.network, config.input, config.outputs, config.batch, nn::Mode::training,
                 config.arithmetic, share_ ? &*share_ : nullptr),
        optimizer_(network_.parameters(), {.learning_rate = {.decay_steps = 1000}}),
        reducer_(ranks.all, network_.gradients(), 1, WireFormat::f32, config.order, ranks.group.size()),
        voxels_(network_.input_values()),
        targets_(static_cast<std::size_t>(config.batch * network_.outputs()), 0.25f),
        d_output_(targets_.size()) {
    nn::initialise(network_, 1);
    const core::RandomStream stream(1, core::Purpose::gaussian_field);
    for (std::size_t i = 0; i < voxels_.size(); ++i)
      voxels_[i] = static_cast<float>(stream.normals({static_cast<std::uint32_t>(i), 0, 0})[0]);
  }

  nn::Network& network() { return network_; }

  StepTimes step() {
    const nn::Labels labels{network_.outputs(), nn::LabelError::absolute};
    const nn::LossRows rows{network_.batch(), static_cast<double>(network_.batch()) * ranks_.peers.size()};
    StepTimes times{};
    const double exchanged_before = network_.exchanging();
    core::Timer lap;
    network_.set_input(voxels_.span());
    times.input = lap.restart();
    const std::span<const float> output = network_.forward();
    times.forward = lap.restart();
    labels.loss({d_output_, output, targets_}, rows);
    times.loss = lap.restart();
    network_.backward(d_output_, [&](std::span<float> part) { reducer_.ready(part); });
    times.backward = lap.restart();
    const double waited_before = reducer_.times().waiting;
    reducer_.finish();
    times.waiting = reducer_.times().waiting - waited_before;
    times.communication = lap.restart() - times.waiting;
    optimizer_.step(steps_++);
    times.optimizer = lap.restart();
    times.exchanging = network_.exchanging() - exchanged_before;
    return times;
  }

 private:
  const dataset::SampleGroups& ranks_;
  std::optional<nn::Share> share_;
  nn::Network network_;
  LarcAdam optimizer_;
  GradientReducer reducer_;
  core::Buffer<float> voxels_;
  std::vector<float> targets_;
  std::vector<float> d_output_;
  std::int64_t steps_ = 0;
};

/// Fills in the step's time on the slowest rank and the peak. Both are medians over the run, because a shared
/// host's clock rate changes from one second to the next. Where steps are shorter than a measurement of the
/// peak, not every step gets one. Collective.
void time_steps(const core::Communicator& comm, SyntheticTraining& training, int threads,
                const BenchmarkConfig& config, BenchmarkResult& result) {
  std::vector<double> times, forward, peaks;
  double total = 0, measuring = 0;
  for (int step = 0; step < kWarmUp + kFewest || total < config.duration; ++step) {
    const StepTimes own = training.step();
    const double time = comm.max(own.total()), forward_time = comm.max(own.forward);
    if (step < kWarmUp) continue;
    if (measuring <= total) {
      const core::Timer timer;
      const Peak peak = measure_peak(threads, config.arithmetic.precision);
      measuring += comm.max(timer.seconds());
      result.peak_unit = peak.unit;
      peaks.push_back(comm.sum(peak.rate));
    }
    times.push_back(time);
    forward.push_back(forward_time);
    total += time;
  }
  result.steps = static_cast<int>(times.size());
  result.step_time = core::median(times);
  result.forward_time = core::median(forward);
  result.peak = core::median(peaks);
}

double seconds_of(const std::vector<OperationRecord>& operations, OperationKind kind) {
  double seconds = 0;
  for (const OperationRecord& operation : operations) {
    if (operation.kind == kind) seconds += operation.seconds;
  }
  return seconds;
}

StepBreakdown break_down(const StepTimes& step, const std::vector<OperationRecord>& operations) {
  return {seconds_of(operations, OperationKind::convolution),
          seconds_of(operations, OperationKind::dense) + seconds_of(operations, OperationKind::other) +
              step.loss + step.optimizer,
          seconds_of(operations, OperationKind::reorder),
          step.waiting,
          step.communication + step.exchanging,
          step.input};
}

/// Fills in operations and breakdown. Collective, because the steps are.
void profile(SyntheticTraining& training, BenchmarkResult& result) {
  std::vector<std::vector<OperationRecord>> operations;
  std::vector<StepBreakdown> breakdowns;
  for (int step = 0; step < kProfiled; ++step) {
    training.network().time_operations(true);
    const StepTimes times = training.step();
    operations.push_back(training.network().operations());
    breakdowns.push_back(break_down(times, operations.back()));
  }
  training.network().time_operations(false);
  const auto median_of = [](const auto& samples, const auto& value) {
    std::vector<double> values;
    for (const auto& sample : samples) values.push_back(value(sample));
    return core::median(values);
  };
  result.operations = operations[0];
  for (std::size_t i = 0; i < result.operations.size(); ++i)
    result.operations[i].seconds = median_of(operations, [&](const auto& step) { return step[i].seconds; });
  for (const auto& entry : kStepParts) {
    const auto part = entry.second;
    result.breakdown.*part = median_of(breakdowns, [part](const StepBreakdown& step) { return step.*part; });
  }
}

}  // namespace

BenchmarkResult benchmark(const dataset::SampleGroups& ranks, const BenchmarkConfig& config, int threads) {
  const core::Communicator& comm = ranks.all;
  SyntheticTraining training(ranks, config);
  BenchmarkResult result{};
  result.census = training.network().census();
  result.batch = config.batch;
  result.ranks = comm.size();
  result.cut = config.cut;
  time_steps(comm, training, threads, config, result);
  profile(training, result);
  result.peak_rss = static_cast<double>(comm.max(core::peak_resident_memory()));
  return result;
}

}  // namespace cosmo::train
