#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "core/bfloat16.hpp"
#include "core/error.hpp"
#include "core/parallel/communicator.hpp"
#include "core/random.hpp"
#include "nn/initialise.hpp"
#include "nn/output/output.hpp"
#include "nn/zoo/zoo.hpp"
#include "train/gradient/gradient_reducer.hpp"
#include "train/gradient/replica_check.hpp"
#include "train/gradient/straggler_report.hpp"
#include "train/optimizer/larc_adam.hpp"
#include "train/optimizer/sgd.hpp"

using namespace cosmo;

namespace {

constexpr int kSamples = 4;
constexpr int kOutputs = 3;
constexpr nn::Shape kInput{1, 32};

/// Sample i of the batch that every layout of ranks and micro-batches works on.
void fill(std::span<float> voxels, int first_sample) {
  const core::RandomStream stream(5, core::Purpose::gaussian_field);
  const auto cells = static_cast<std::size_t>(kInput.elements());
  for (std::size_t i = 0; i < voxels.size(); ++i) {
    const auto sample = static_cast<std::uint32_t>(first_sample) + static_cast<std::uint32_t>(i / cells);
    voxels[i] = static_cast<float>(stream.normals({sample, static_cast<std::uint32_t>(i % cells), 0})[0]);
  }
}

/// Forward, loss and backward of samples [first, first + network.batch()). Returns its part of the step's
/// loss.
double run_micro_batch(nn::Network& network, int first, const std::function<void(std::span<float>)>& ready) {
  fill(network.input(), first);
  std::vector<float> targets;
  for (int i = 0; i < network.batch() * kOutputs; ++i) {
    targets.push_back(0.1f * static_cast<float>(first * kOutputs + i) - 0.5f);
  }
  std::vector<float> d_output(targets.size());
  const double loss = nn::Labels{kOutputs, nn::LabelError::squared}.loss(
      {d_output, network.forward(), targets}, {network.batch(), kSamples});
  network.backward(d_output, ready);
  return loss;
}

/// All gradients in plain layouts, one parameter after another.
std::vector<double> plain_gradient(const nn::Network& network) {
  std::vector<double> all;
  for (const nn::Parameter& parameter : network.parameters()) {
    std::vector<float> plain(parameter.elements());
    network.copy_to_plain(parameter, parameter.gradient, plain);
    all.insert(all.end(), plain.begin(), plain.end());
  }
  return all;
}

double norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

/// The loss of each step of a training on the same kSamples samples throughout.
std::vector<double> train_a_while(const core::Communicator& comm, int micro_batch,
                                  const std::string& optimizer_name, int steps) {
  nn::Network network(nn::with_outputs(nn::find_network("cosmoflow32"), kOutputs), kInput, kOutputs,
                      micro_batch, nn::Mode::training);
  nn::initialise(network, 1);
  std::unique_ptr<train::Optimizer> optimizer;
  if (optimizer_name == "sgd") {
    optimizer = std::make_unique<train::Sgd>(network.parameters(), train::SgdConfig{0.9, {0.01, 0.01, 1}});
  } else {
    optimizer = std::make_unique<train::LarcAdam>(network.parameters(),
                                                  train::LarcAdamConfig{.learning_rate = {2e-3, 1e-4, 20}});
  }
  const int micro_batches = kSamples / (micro_batch * comm.size());
  train::GradientReducer reducer(comm, network.gradients(), micro_batches);
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    double loss = 0;
    for (int m = 0; m < micro_batches; ++m) {
      loss += run_micro_batch(network, (comm.rank() * micro_batches + m) * micro_batch,
                              [&](std::span<float> part) { reducer.ready(part); });
    }
    reducer.finish();
    losses.push_back(comm.sum(loss));
    optimizer->step(step);
  }
  train::ensure_equal_replicas(comm, network.weights(), steps);
  return losses;
}

}  // namespace

TEST_CASE("a step's gradient is the same however its samples are dealt to ranks and micro-batches") {
  const core::Communicator comm = core::Communicator::world();
  const nn::NetworkSpec spec = nn::with_outputs(nn::find_network("cosmoflow32"), kOutputs);

  nn::Network whole(spec, kInput, kOutputs, kSamples, nn::Mode::training);
  nn::initialise(whole, 1);
  run_micro_batch(whole, 0, [](std::span<float>) {});  // the reference: all samples at once on this rank

  const int micro_batch = GENERATE(1, 2, 4);
  if (kSamples % (micro_batch * comm.size()) != 0) return;
  const int micro_batches = kSamples / (micro_batch * comm.size());
  nn::Network part(spec, kInput, kOutputs, micro_batch, nn::Mode::training);
  nn::initialise(part, 1);
  train::GradientReducer reducer(comm, part.gradients(), micro_batches);
  const auto ready = [&](std::span<float> gradient) { reducer.ready(gradient); };
  for (int step = 0; step < 2; ++step) {  // the second step must not remember the first
    for (int m = 0; m < micro_batches; ++m) {
      run_micro_batch(part, (comm.rank() * micro_batches + m) * micro_batch, ready);
    }
    reducer.finish();
    std::vector<double> expected = plain_gradient(whole);
    std::vector<double> difference = plain_gradient(part);
    for (std::size_t i = 0; i < expected.size(); ++i) difference[i] -= expected[i];
    INFO(comm.size() << " ranks, micro-batch " << micro_batch << ", step " << step);
    CHECK(norm(expected) > 1e-3);
    CHECK(norm(difference) < 1e-5 * norm(expected));
  }
}

TEST_CASE("in a tree, samples are summed in the same order by any ranks") {
  const core::Communicator comm = core::Communicator::world();
  constexpr int kNumbers = 10, kAll = 12;  // on three ranks four of each, otherwise eight of them
  const int samples = comm.size() == 3 ? kAll : 8, own = samples / comm.size();
  // Sums of these depend on the order.
  const auto value = [](int sample, int i) {
    return std::pow(-1.9f, static_cast<float>(3 * sample + i)) / 7;
  };
  const auto in_tree = [&](int i) {
    std::vector<float> sums;
    for (int sample = 0; sample < samples; ++sample) sums.push_back(value(sample, i));
    for (std::size_t apart = 1; apart < sums.size(); apart *= 2)
      for (std::size_t to = 0; to + apart < sums.size(); to += 2 * apart) sums[to] += sums[to + apart];
    return sums.front();
  };
  std::vector<float> arena(kNumbers);
  train::GradientReducer reducer(comm, arena, own, train::WireFormat::f32, train::SumOrder::reproducible);
  CHECK(train::GradientReducer::kept_sums(own, train::SumOrder::reproducible) ==
        std::countr_zero(static_cast<unsigned>(own)));
  for (int step = 0; step < 2; ++step) {
    for (int m = 0; m < own; ++m) {
      for (int i = 0; i < kNumbers; ++i) arena[static_cast<std::size_t>(i)] = value(comm.rank() * own + m, i);
      reducer.ready(std::span(arena).subspan(4));
      reducer.ready(std::span(arena).first(4));
    }
    reducer.finish();
    for (int i = 0; i < kNumbers; ++i) CHECK(arena[static_cast<std::size_t>(i)] == in_tree(i));
  }
}

TEST_CASE("where ranks share samples, samples are summed first and then the ranks' parts of them") {
  const core::Communicator comm = core::Communicator::world();
  const int shared = GENERATE(2, 4);
  if (comm.size() % shared != 0) return;
  const int samples = 8, own = samples * shared / comm.size();
  const auto value = [](int sample, int place) {
    return std::pow(-1.9f, static_cast<float>(3 * sample + 2 * place)) / 7;
  };
  const auto in_tree = [](std::vector<float> sums) {
    for (std::size_t apart = 1; apart < sums.size(); apart *= 2)
      for (std::size_t to = 0; to + apart < sums.size(); to += 2 * apart) sums[to] += sums[to + apart];
    return sums.front();
  };
  std::vector<float> of_places;
  for (int place = 0; place < shared; ++place) {
    std::vector<float> of_samples;
    for (int sample = 0; sample < samples; ++sample) of_samples.push_back(value(sample, place));
    of_places.push_back(in_tree(of_samples));
  }
  constexpr int kNumbers = 9;  // more than ranks, and not a multiple
  std::vector<float> arena(kNumbers);
  train::GradientReducer reducer(comm, arena, own, train::WireFormat::f32, train::SumOrder::reproducible,
                                 shared);
  for (int m = 0; m < own; ++m) {
    std::ranges::fill(arena, value(comm.rank() / shared * own + m, comm.rank() % shared));
    reducer.ready(arena);
  }
  reducer.finish();
  for (const float sum : arena) CHECK(sum == in_tree(of_places));
}

TEST_CASE("losses do not depend on how samples are dealt, and are the same bits in the same layout") {
  const core::Communicator world = core::Communicator::world();
  const core::Communicator alone = world.split(world.rank());
  const auto [optimizer, steps, tolerance] =
      GENERATE(table<std::string, int, double>({{"sgd", 20, 5e-5}, {"larc-adam", 3, 1e-4}}));
  const std::vector<double> expected = train_a_while(alone, kSamples, optimizer, steps);
  CHECK(expected.back() < 0.9 * expected.front());
  for (const int micro_batch : {1, 2, 4}) {
    if (kSamples % (micro_batch * world.size()) != 0) continue;
    INFO(optimizer << ", " << world.size() << " ranks, micro-batch " << micro_batch);
    const std::vector<double> losses = train_a_while(world, micro_batch, optimizer, steps);
    for (std::size_t i = 0; i < losses.size(); ++i)
      CHECK(std::abs(losses[i] - expected[i]) < tolerance * expected[i]);
    CHECK(losses == train_a_while(world, micro_batch, optimizer, steps));
  }
}

TEST_CASE("a reducer that ends in mid-step does not wait for ranks that never come") {
  const core::Communicator comm = core::Communicator::world();
  std::vector<float> arena(1 << 19);
  {
    train::GradientReducer reducer(comm, arena, 1);
    if (comm.rank() > 0) reducer.ready(arena);
  }
  CHECK(comm.sum(1) == comm.size());
}

TEST_CASE("a rank that throws in mid-step leaves the others' communicators as they are") {
  const core::Communicator comm = core::Communicator::world();
  std::vector<float> arena(1 << 19);
  const auto fail_in_mid_step = [&] {
    train::GradientReducer reducer(comm, arena, 1);
    if (comm.rank() == 0) throw std::runtime_error("before its first part");
    reducer.ready(arena);
    throw std::runtime_error("while its arrival waits for rank 0");
  };
  for (int time = 0; time < 20; ++time) {
    CHECK_THROWS_AS(fail_in_mid_step(), std::runtime_error);
    std::fill(arena.begin(), arena.end(), static_cast<float>(comm.rank() + time));
    train::GradientReducer next(comm, arena, 1);
    next.ready(arena);
    next.finish();
    const int ranks = comm.size(), sum = ranks * (ranks - 1) / 2 + ranks * time;
    CHECK(std::all_of(arena.begin(), arena.end(),
                      [&](float value) { return value == static_cast<float>(sum); }));
  }
}

TEST_CASE("every rank gets the same bits of the reduced gradient") {
  const core::Communicator comm = core::Communicator::world();
  const nn::NetworkSpec spec = nn::with_outputs(nn::find_network("cosmoflow32"), kOutputs);
  nn::Network network(spec, kInput, kOutputs, 1, nn::Mode::training);
  nn::initialise(network, 1);
  train::GradientReducer reducer(comm, network.gradients(), 1);
  run_micro_batch(network, comm.rank(), [&](std::span<float> part) { reducer.ready(part); });
  reducer.finish();
  CHECK_NOTHROW(train::ensure_equal_replicas(comm, network.gradients(), 0));
}

TEST_CASE("parts are summed over the ranks in the order of backward, large and small ones") {
  const core::Communicator comm = core::Communicator::world();
  const std::size_t sizes[] = {5, 1 << 19, 64, (1 << 18) + 16, 16};
  std::vector<float> arena(std::accumulate(std::begin(sizes), std::end(sizes), std::size_t{0}));
  const int micro_batches = GENERATE(1, 3);
  train::GradientReducer reducer(comm, arena, micro_batches);
  for (int step = 0; step < 3; ++step) {
    const auto value = [&](int rank, int m, std::size_t i) {
      return static_cast<float>((rank + 1) * 100 + m * 10 + step) + static_cast<float>(i % 7);
    };
    for (int m = 0; m < micro_batches; ++m) {
      std::size_t end = arena.size();
      for (const std::size_t size : sizes) {
        const std::span<float> part = std::span(arena).subspan(end - size, size);
        for (std::size_t i = 0; i < size; ++i) part[i] = value(comm.rank(), m, end - size + i);
        reducer.ready(part);
        end -= size;
      }
    }
    reducer.finish();
    bool right = true;
    for (std::size_t i = 0; i < arena.size(); ++i) {
      float sum = 0;
      for (int rank = 0; rank < comm.size(); ++rank) {
        for (int m = 0; m < micro_batches; ++m) sum += value(rank, m, i);
      }
      right = right && arena[i] == sum;  // whole numbers
    }
    CHECK(right);
  }
  CHECK((reducer.times().exposed > 0) == (comm.size() > 1));
}

TEST_CASE("bf16 on the wire: the rounded sum, in rank order, of rounded gradients") {
  const core::Communicator comm = core::Communicator::world();
  std::vector<float> gradient(1001);  // not a multiple of the ranks
  const auto value = [](int rank, std::size_t i) {
    const core::RandomStream stream(6, core::Purpose::gaussian_field);
    const auto scale = static_cast<float>(std::pow(10.0, static_cast<double>(i % 9) - 4));
    return scale * static_cast<float>(stream.normals(
                       {static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(i), 0})[0]);
  };
  train::GradientReducer reducer(comm, gradient, 1, train::WireFormat::bf16);
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = value(comm.rank(), i);
  reducer.ready(gradient);
  reducer.finish();
  if (comm.size() == 1) {
    CHECK(gradient[7] == value(0, 7));  // no wire
    return;
  }
  bool bitwise = true;
  double error = 0, square = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    float rounded = 0;
    double sum = 0;
    for (int rank = 0; rank < comm.size(); ++rank) {
      rounded += static_cast<float>(core::Bfloat16(value(rank, i)));
      sum += value(rank, i);
    }
    bitwise = bitwise && gradient[i] == static_cast<float>(core::Bfloat16(rounded));
    error += std::pow(gradient[i] - sum, 2);
    square += sum * sum;
  }
  CHECK(bitwise);
  CHECK(error < std::pow(0.004, 2) * square);  // a rounding errs by at most 2^-9
  CHECK(error > std::pow(0.0005, 2) * square);
}

TEST_CASE("bfloat16 is the nearest, ties to even, and keeps what is not finite") {
  const auto rounded = [](float value) { return static_cast<float>(core::Bfloat16(value)); };
  CHECK(rounded(1.0f) == 1.0f);
  CHECK(rounded(1.0f + 0x1p-8f) == 1.0f);            // a tie
  CHECK(rounded(1.0f + 0x3p-8f) == 1.0f + 0x1p-6f);  // a tie
  CHECK(rounded(1.0f + 0x1.01p-8f) == 1.0f + 0x1p-7f);
  CHECK(rounded(-3.14159274f) == -3.140625f);
  CHECK(std::isinf(rounded(std::numeric_limits<float>::max())));
  CHECK(rounded(-std::numeric_limits<float>::infinity()) == -std::numeric_limits<float>::infinity());
  CHECK(std::isnan(rounded(std::bit_cast<float>(0x7f800001u))));
  CHECK(std::isnan(rounded(std::bit_cast<float>(0xffffffffu))));
}

TEST_CASE("a rank that computes with other kernels is named on every rank") {
  const core::Communicator comm = core::Communicator::world();
  std::vector<nn::OperationRecord> operations = {
      {"conv1", nn::Phase::forward, nn::OperationKind::convolution, "first", 0},
      {"conv2", nn::Phase::input_gradient, nn::OperationKind::convolution, "wide", 0}};
  CHECK_NOTHROW(train::ensure_equal_kernels(comm, operations));
  if (comm.size() == 1) return;
  if (comm.rank() == comm.size() - 1) operations[1].implementation = "narrow";
  CHECK_THROWS_WITH(train::ensure_equal_kernels(comm, operations),
                    Catch::Contains(fmt::format("Ranks 0 and {} compute", comm.size() - 1)) &&
                        Catch::Contains("(conv2, input gradient: wide; conv2, input gradient: narrow)"));
  if (comm.rank() == comm.size() - 1) operations.pop_back();
  CHECK_THROWS_WITH(train::ensure_equal_kernels(comm, operations), Catch::Contains("wide; )"));
}

TEST_CASE("a rank whose weights differ is named on every rank") {
  const core::Communicator comm = core::Communicator::world();
  std::vector<float> weights(100, 0.5f);
  CHECK_NOTHROW(train::ensure_equal_replicas(comm, weights, 7));
  if (comm.size() == 1) return;
  if (comm.rank() == comm.size() - 1) weights[99] = std::nextafter(0.5f, 1.0f);
  CHECK_THROWS_WITH(train::ensure_equal_replicas(comm, weights, 7),
                    Catch::Contains(fmt::format("rank {}", comm.size() - 1)) && Catch::Contains("step 7"));
}

TEST_CASE("the straggler report names the slowest rank and spreads over ranks") {
  const core::Communicator comm = core::Communicator::world();
  train::RankTimes times;
  times.steps = 10;
  times.computing = comm.rank() == comm.size() - 1 ? 30 : 20;
  times.reduction = {.reducing = 4, .exposed = 1, .waiting = 10.0 * comm.rank()};
  const train::StragglerReport report = train::report_stragglers(comm, times);
  CHECK(report.slowest == comm.size() - 1);
  CHECK(report.computing.max == Approx(3));
  CHECK(report.computing.min == Approx(comm.size() == 1 ? 3 : 2));
  CHECK(report.computing.mean == Approx(2 + 1.0 / comm.size()));
  CHECK(report.waiting.max == Approx(comm.size() - 1));
  CHECK(report.exposed.mean == Approx(0.1));
  CHECK(report.hidden == Approx(0.75));
}
