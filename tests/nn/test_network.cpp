#include <omp.h>

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "core/error.hpp"
#include "core/machine/memory.hpp"
#include "nn/initialise.hpp"
#include "nn/summary.hpp"
#include "nn/zoo/zoo.hpp"
#include "tests/nn/networks.hpp"
#include "tests/support/expect_error.hpp"

using namespace cosmo;
using nn::AveragePool;
using nn::Convolution;
using nn::Dense;

namespace {

// Channel counts that leave padding in blocked layouts.
const nn::NetworkSpec kPadded = test::chain(
    "padded", {Convolution{5, 3, 1, 0, 0.01}, AveragePool{2, 2}, nn::TransposedConvolution{7, 2, 2, 0, 0.01},
               Convolution{19, 2, 1, 0, 0.01}, Dense{21, 0.01}, Dense{0}});

nn::Network padded_network(nn::Mode mode = nn::Mode::training) {
  nn::Network network(kPadded, {2, 8}, 3, 2, mode);
  test::set_start_values(network);
  test::set_input(network);
  return network;
}

}  // namespace

TEST_CASE("padding of the arenas is zero and stays so under gradient steps") {
  nn::Network network = padded_network();
  const std::vector<float> d_output = test::hashed_values(1, 6);
  test::check_padding(network, [&] {
    network.forward();
    network.backward(d_output, [](std::span<float>) {});
  });
}

TEST_CASE("parameters go to the plain layout and back bit by bit") {
  nn::Network network = padded_network();
  for (const nn::Parameter& parameter : network.parameters()) {
    std::vector<float> values = test::start_values(parameter);
    values.front() = -0.0f;
    values.back() = std::bit_cast<float>(std::uint32_t{3});  // subnormal
    std::vector<float> blocked(parameter.values.size(), 7.0f);
    network.copy_from_plain(parameter, values, blocked);
    CHECK(test::same_bits(test::plain(network, parameter, blocked), values));
    CHECK(reinterpret_cast<std::uintptr_t>(parameter.values.data()) % 64 == 0);
  }
}

TEST_CASE("two instances and two passes give the same bits") {
  nn::Network first = padded_network(), second = padded_network();
  const std::vector<float> d_output = test::hashed_values(1, 6);
  const std::span<const float> result = first.forward();
  const std::vector<float> output(result.begin(), result.end());
  first.backward(d_output, [](std::span<float>) {});
  for (int pass = 0; pass < 2; ++pass) {
    CHECK(test::same_bits(second.forward(), output));
    second.backward(d_output, [](std::span<float>) {});
    CHECK(test::same_bits(first.gradients(), second.gradients()));
  }
}

TEST_CASE("for any layout oneDNN's convolutions have the same bits on any number of threads") {
  // Both strides; pieces of 32 channels of the outputs, and of the inputs of the second and third.
  const nn::NetworkSpec spec =
      test::chain("pieces", {Convolution{32, 3, 1, 0, 0.01}, Convolution{128, 3, 1, 1, 0.01},
                             Convolution{64, 2, 2, 0, 0.01}, Convolution{64, 3, 1, 1, 0.01}, Dense{0}});
  nn::Arithmetic any;
  any.reproducible = true;
  const int before = omp_get_max_threads();
  const int batch = GENERATE(1, 2);  // in two samples there are no pieces
  const std::vector<float> d_output = test::hashed_values(1, static_cast<std::size_t>(3 * batch));
  const auto gradients_of = [&](int threads, const nn::Arithmetic& arithmetic) {
    omp_set_num_threads(threads);
    nn::Network network(spec, {1, 12}, 3, batch, nn::Mode::training, arithmetic);
    test::set_start_values(network);
    test::set_input(network);
    const std::span<const float> output = network.forward();
    std::vector<float> found(output.begin(), output.end());
    network.backward(d_output, [](std::span<float>) {});
    for (const nn::Parameter& parameter : network.parameters()) {
      const auto plain = test::plain(network, parameter, parameter.gradient);
      found.insert(found.end(), plain.begin(), plain.end());
    }
    omp_set_num_threads(before);
    return found;
  };
  const std::vector<float> whole = gradients_of(1, {}), one = gradients_of(1, any);
  std::vector<float> difference(whole.size());
  std::ranges::transform(one, whole, difference.begin(), std::minus());
  CHECK(test::norm(difference) < 2e-6 * test::norm(whole));
  for (const int threads : {2, 3, 5}) {
    gradients_of(threads, {});  // oneDNN keeps its primitives for networks like this
    CHECK(test::same_bits(gradients_of(threads, any), one));
  }
}

TEST_CASE("gradients become ready layer by layer, last first, and cover the arena") {
  nn::Network network = padded_network();
  network.forward();
  std::vector<std::span<float>> parts;
  network.backward(test::hashed_values(1, 6), [&](std::span<float> part) { parts.push_back(part); });
  REQUIRE(parts.size() == 5);
  CHECK(parts.back().data() == network.gradients().data());
  for (std::size_t i = 1; i < parts.size(); ++i) {
    CHECK(parts[i].data() + parts[i].size() <= parts[i - 1].data());
    CHECK(parts[i].data() + parts[i].size() + 16 > parts[i - 1].data());
  }
}

TEST_CASE("inference gives what training gives, in less memory") {
  nn::Network training = padded_network();
  nn::Network inference = padded_network(nn::Mode::inference);
  const std::span<const float> expected = training.forward();
  const std::span<const float> found = inference.forward();
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(found[i] == Approx(expected[i]).epsilon(1e-5));
  CHECK(inference.gradients().empty());
  CHECK(inference.memory_bytes() < training.memory_bytes());
  CHECK_THROWS_AS(inference.backward(expected, [](std::span<float>) {}), core::Error);
  nn::Network moved = std::move(inference);
  CHECK(moved.forward().data() == found.data());
}

TEST_CASE("inference convolves by the kernels of training") {
  const auto kernels = [](nn::Mode mode) {
    std::vector<std::string> names;
    for (const auto& operation :
         nn::Network(nn::find_network("cosmoflow64"), {1, 64}, 3, 1, mode).operations()) {
      if (operation.phase == nn::Phase::forward && operation.kind == nn::OperationKind::convolution)
        names.push_back(operation.layer + " " + operation.implementation);
    }
    return names;
  };
  const std::vector<std::string> expected = kernels(nn::Mode::training);
  CHECK(expected.size() >= 3);
  CHECK(kernels(nn::Mode::inference) == expected);
}

TEST_CASE("the memory of a network is known before it is allocated") {
  const nn::NetworkSpec spec = nn::find_network("cosmoflow64");
  const auto planned = [&](int batch, nn::Mode mode) {
    return nn::Network::planned_bytes(spec, {1, 64}, 3, batch, mode);
  };
  for (const nn::Mode mode : {nn::Mode::training, nn::Mode::inference})
    CHECK(nn::Network(spec, {1, 64}, 3, 2, mode).memory_bytes() == planned(2, mode));
  CHECK(planned(4, nn::Mode::training) > planned(2, nn::Mode::training));
  const std::size_t before = core::peak_resident_memory();
  CHECK(planned(2000, nn::Mode::training) > std::size_t{4} << 30);
  CHECK(core::peak_resident_memory() < before + (std::size_t{256} << 20));
}

TEST_CASE("every operation reports what it is, its implementation and, while timed, its time") {
  nn::Network network(nn::find_network("cosmoflow32"), {1, 32}, 3, 2, nn::Mode::training);
  test::set_input(network);
  const auto count = [&](nn::OperationKind kind, nn::Phase phase) {
    const auto operations = network.operations();
    return std::count_if(operations.begin(), operations.end(), [&](const nn::OperationRecord& operation) {
      return operation.kind == kind && operation.phase == phase;
    });
  };
  CHECK(count(nn::OperationKind::convolution, nn::Phase::forward) == 2);
  CHECK(count(nn::OperationKind::convolution, nn::Phase::weight_gradient) == 2);
  CHECK(count(nn::OperationKind::convolution, nn::Phase::input_gradient) == 1);
  CHECK(count(nn::OperationKind::dense, nn::Phase::forward) == 2);
  const std::vector<float> d_output(6, 1);
  const auto step = [&] {
    network.forward();
    network.backward(d_output, [](std::span<float>) {});
  };
  step();
  for (const nn::OperationRecord& operation : network.operations()) {
    INFO(operation.layer << ": " << operation.implementation);
#ifdef __x86_64__  // elsewhere oneDNN has nothing but its reference code for pools and dense layers
    CHECK(operation.implementation.find("ref") == std::string::npos);
#endif
    CHECK(operation.seconds == 0);
  }
  network.time_operations(true);
  step();
  network.time_operations(false);
  for (const nn::OperationRecord& operation : network.operations()) CHECK(operation.seconds > 0);
}

TEST_CASE("a network reads the voxels that it is given in place, its own input included") {
  for (const char* name : {"cosmoflow32", "cosmonet32"}) {
    nn::Network network(nn::find_network(name), {1, 32}, 3, 2, nn::Mode::training);
    nn::initialise(network, 1);
    test::set_input(network);
    const auto results = [&] {
      const auto outputs = network.forward();
      std::vector<float> found(outputs.begin(), outputs.end());
      network.backward(std::vector<float>(6, 1), [](std::span<float>) {});
      found.insert(found.end(), network.gradients().begin(), network.gradients().end());
      return found;
    };
    const std::vector<float> own = results();
    std::vector<float> voxels(network.input().begin(), network.input().end());
    std::ranges::fill(network.input(), 0.0f);
    network.set_input(voxels);
    CHECK(results() == own);
    voxels[0] += 1;
    CHECK(results() != own);
    expect_error(core::Fault::internal, "The input needs 65536 values, not 65535.",
                 [&] { network.set_input(std::span(voxels).first(voxels.size() - 1)); });
  }
  nn::Network network(nn::find_network("cosmoflow32"), {1, 32}, 3, 2, nn::Mode::inference);
  expect_error(core::Fault::internal, "The network has no input.", [&] { network.forward(); });
}

TEST_CASE("slow code of oneDNN is named, fast matrix products are not") {
  using nn::OperationKind;
  using nn::Phase;
  const std::vector<nn::OperationRecord> operations = {
      {"conv1", Phase::forward, OperationKind::convolution, "jit:avx512_core", 0},
      {"conv1", Phase::weight_gradient, OperationKind::convolution, "x64:gemm:jit", 0},
      {"conv2", Phase::forward, OperationKind::convolution, "brgemm:avx512_core", 0},
      {"pool2", Phase::forward, OperationKind::other, "ref:any", 0},
      {"dense1", Phase::forward, OperationKind::dense, "x64:gemm:jit", 0}};
  CHECK(nn::slow_operations(operations) == "conv1 (weight gradient, x64:gemm:jit), pool2 (forward, ref:any)");
  CHECK(nn::slow_operations(std::span(operations).first(1)).empty());
}

TEST_CASE("features are what the last dense layer reads, after a pass too") {
  const nn::NetworkSpec spec =
      test::chain("features", {Convolution{4, 3, 1, 0, 0.01}, Dense{12, 0.01}, Dense{5, 0.01},
                               nn::Dropout{0.5}, Dense{0}, nn::Tanh{1.2}});
  for (const nn::Mode mode : {nn::Mode::inference, nn::Mode::training}) {
    nn::Network network(spec, {1, 6}, 3, 2, mode);
    test::set_start_values(network);
    test::set_input(network);
    const std::span<const float> outputs = network.forward(), features = network.features();
    REQUIRE(features.size() == 2 * 5);
    const auto plain = [&](const std::string& name) {
      const auto found = std::ranges::find(network.parameters(), name, &nn::Parameter::name);
      REQUIRE(found != network.parameters().end());
      return test::plain(network, *found, found->values);
    };
    const std::vector<float> weights = plain("e.weights"), biases = plain("e.biases");
    for (std::size_t n = 0; n < 2; ++n) {
      for (std::size_t o = 0; o < 3; ++o) {
        double sum = biases[o];
        for (std::size_t f = 0; f < 5; ++f) sum += double{weights[o * 5 + f]} * features[n * 5 + f];
        CHECK(outputs[n * 3 + o] == Approx(1.2 * std::tanh(sum)).epsilon(1e-5).margin(1e-6));
      }
    }
  }
}

TEST_CASE("a network whose last dense layer reads a grid has no features") {
  nn::Network first(test::chain("first", {Convolution{4, 3, 1, 0, 0.01}, Dense{0}}), {1, 6}, 3, 2,
                    nn::Mode::inference);
  CHECK(first.features().empty());
}
