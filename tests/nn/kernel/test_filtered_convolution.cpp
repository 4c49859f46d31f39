#include <omp.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "nn/kernel/filter_kernels.hpp"
#include "nn/kernel/kernel_set.hpp"
#include "nn/zoo/zoo.hpp"
#include "tests/nn/hashed.hpp"

using namespace cosmo;
using nn::FilteredConvolution;
using nn::FilterKernels;

namespace {

constexpr float kSlope = 0.3f;

/// Values at a multiple of every vector's size.
class Buffer {
 public:
  explicit Buffer(std::int64_t size)
      : size_(static_cast<std::size_t>(size)),
        values_(static_cast<float*>(std::aligned_alloc(64, (size_ * sizeof(float) + 63) / 64 * 64)),
                &std::free) {
    std::fill_n(values_.get(), size_, std::nanf(""));
  }
  float* data() const { return values_.get(); }
  std::span<float> span() const { return {values_.get(), size_}; }
  float& operator[](std::int64_t i) const { return values_.get()[i]; }

 private:
  std::size_t size_;
  std::unique_ptr<float[], decltype(&std::free)> values_;
};

Buffer hashed_buffer(std::uint64_t stream, std::int64_t size) {
  Buffer buffer(size);
  for (std::int64_t i = 0; i < size; ++i) buffer[i] = test::hashed(stream, static_cast<std::uint64_t>(i));
  return buffer;
}

/// Cells of a tensor: along D, and along H and W.
struct Volume {
  std::int64_t depth, side;

  std::int64_t cells() const { return depth * side * side; }
  std::int64_t at(const std::int64_t (&cell)[3]) const { return (cell[0] * side + cell[1]) * side + cell[2]; }
};

/// A layer, all its tensors, and what the kernels make of them.
struct Problem {
  const FilterKernels& kernels;
  std::int64_t lanes;
  FilteredConvolution layer;
  std::int64_t taps = layer.kernel * layer.kernel * layer.kernel;
  Volume volume = {layer.depth.cells, layer.side.cells};
  Volume output_volume = {layer.output_depth(), layer.output_side()};
  Buffer input = hashed_buffer(1, size(layer.inputs, volume));
  Buffer weights = hashed_buffer(2, taps* layer.inputs* layer.outputs);
  Buffer biases = hashed_buffer(3, layer.outputs);
  Buffer d_output = hashed_buffer(4, size(layer.outputs, output_volume));
  Buffer output{size(layer.outputs, output_volume)};
  Buffer d_input{size(layer.inputs, volume)};
  Buffer d_weights{taps * layer.inputs * layer.outputs};
  Buffer d_biases{layer.outputs};

  std::int64_t size(std::int64_t channels, const Volume& of) const {
    return layer.images * channels * of.cells();
  }
  std::int64_t tensor_at(std::int64_t image, std::int64_t channels, const Volume& of, std::int64_t channel,
                         const std::int64_t (&cell)[3]) const {
    const std::int64_t block = image * channels / lanes + channel / lanes;
    return (block * of.cells() + of.at(cell)) * lanes + channel % lanes;
  }
  std::int64_t weight_at(std::int64_t out, std::int64_t in, std::int64_t tap) const {
    const std::int64_t b = lanes;
    return (((out / b * (layer.inputs / b) + in / b) * taps + tap) * b + in % b) * b + out % b;
  }
  /// Calls function(tap, its input cell) for the taps of an output cell that see the input.
  template <class Function>
  void for_each_tap(const std::int64_t (&cell)[3], const Function& function) const {
    const std::int64_t k = layer.kernel;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const std::int64_t taps_of[3] = {tap / (k * k), tap / k % k, tap % k};
      const nn::Axis axes[3] = {layer.depth, layer.side, layer.side};
      std::int64_t seen[3];
      bool inside = true;
      for (int i = 0; i < 3; ++i) {
        const std::int64_t from = cell[i] + taps_of[i] - axes[i].padding, end = axes[i].cells;
        seen[i] = axes[i].periodic ? (from + end) % end : from;
        inside = inside && seen[i] >= 0 && seen[i] < end;
      }
      if (inside) function(tap, seen);
    }
  }

  void run() {
    Buffer packed(layer.packed());
    const Buffer scratch(std::max(kernels.scratch(layer), kernels.scratch(layer.transposed())));
    const Buffer gradient_scratch(kernels.gradient_scratch(layer));
    kernels.pack(layer, weights.data(), packed.data());
    kernels.convolve(layer, {input.data()}, packed.data(), {output.data(), false, biases.data(), kSlope},
                     scratch.data());
    kernels.pack_transposed(layer, weights.data(), packed.data());
    kernels.convolve(layer.transposed(), {d_output.data()}, packed.data(), {d_input.data()}, scratch.data());
    kernels.gradient(layer, {input.data()}, {d_output.data()}, d_weights.data(), d_biases.data(),
                     gradient_scratch.data());
  }
  std::vector<float> results() const {
    std::vector<float> all;
    for (const Buffer* buffer : {&output, &d_input, &d_weights, &d_biases})
      all.insert(all.end(), buffer->span().begin(), buffer->span().end());
    return all;
  }
};

/// Errors of some values of a tensor, relative to the rms of all its values.
class Errors {
 public:
  explicit Errors(std::span<const float> all) {
    for (const float value : all) scale_ += static_cast<double>(value) * static_cast<double>(value);
    scale_ = std::sqrt(scale_ / static_cast<double>(all.size()));
  }
  void add(double found, double exact) {
    squares_ += (found - exact) * (found - exact);
    largest_ = std::max(largest_, std::abs(found - exact));
    ++count_;
  }
  double rms() const { return std::sqrt(squares_ / count_) / scale_; }
  double largest() const { return largest_ / scale_; }
  void check(const char* name) const {
    INFO(name << ": rms " << rms() << ", largest " << largest());
    CHECK(count_ > 20);
    CHECK(rms() < 2.5e-6);
    CHECK(largest() < 3e-5);
  }

 private:
  double scale_ = 0, squares_ = 0, largest_ = 0;
  int count_ = 0;
};

/// A cell drawn by a hash, often at an edge.
void draw_cell(std::uint64_t i, const Volume& of, std::int64_t (&cell)[3]) {
  for (std::uint64_t axis = 0; axis < 3; ++axis) {
    const std::int64_t end = axis == 0 ? of.depth : of.side;
    const double place = 0.5 * (1 + 1.5 * static_cast<double>(test::hashed(10 + axis, i)));  // over both ends
    cell[axis] = std::clamp<std::int64_t>(
        static_cast<std::int64_t>(std::floor(place * static_cast<double>(end))), 0, end - 1);
  }
}

void check_forward(const Problem& p) {
  Errors errors(p.output.span());
  for (std::uint64_t i = 0; i < 1000; ++i) {
    std::int64_t cell[3];
    draw_cell(i, p.output_volume, cell);
    const auto image = static_cast<std::int64_t>(i) % p.layer.images,
               out = static_cast<std::int64_t>(i * 7) % p.layer.outputs;
    double sum = static_cast<double>(p.biases[out]);
    p.for_each_tap(cell, [&](std::int64_t tap, const std::int64_t(&seen)[3]) {
      for (std::int64_t in = 0; in < p.layer.inputs; ++in)
        sum += static_cast<double>(p.input[p.tensor_at(image, p.layer.inputs, p.volume, in, seen)]) *
               static_cast<double>(p.weights[p.weight_at(out, in, tap)]);
    });
    const auto found =
        static_cast<double>(p.output[p.tensor_at(image, p.layer.outputs, p.output_volume, out, cell)]);
    errors.add(found, sum > 0 ? sum : static_cast<double>(kSlope) * sum);
  }
  errors.check("forward");
}

/// All sums over the volume, each output cell's contributions scattered to what it read.
void check_gradients(const Problem& p) {
  const std::int64_t side = p.layer.output_side(), out = p.layer.outputs - 1, in = p.layer.inputs / 2;
  const std::int64_t input_side = p.layer.side.cells;
  std::vector<double> d_weights(static_cast<std::size_t>(p.taps), 0);
  double d_bias = 0;
  std::vector<double> d_input(static_cast<std::size_t>(p.volume.cells()), 0);
  const auto gradient = [&](std::int64_t image, std::int64_t channel, const std::int64_t(&cell)[3]) {
    return static_cast<double>(
        p.d_output[p.tensor_at(image, p.layer.outputs, p.output_volume, channel, cell)]);
  };
  for (std::int64_t image = 0; image < p.layer.images; ++image) {
    for (std::int64_t i = 0; i < p.output_volume.cells(); ++i) {
      const std::int64_t cell[3] = {i / (side * side), i / side % side, i % side};
      d_bias += gradient(image, out, cell);
      p.for_each_tap(cell, [&](std::int64_t tap, const std::int64_t(&seen)[3]) {
        d_weights[static_cast<std::size_t>(tap)] +=
            gradient(image, out, cell) *
            static_cast<double>(p.input[p.tensor_at(image, p.layer.inputs, p.volume, in, seen)]);
        if (image != 0) return;
        double& sum = d_input[static_cast<std::size_t>(p.volume.at(seen))];
        for (std::int64_t o = 0; o < p.layer.outputs; ++o)
          sum += gradient(0, o, cell) * static_cast<double>(p.weights[p.weight_at(o, in, tap)]);
      });
    }
  }
  Errors weights(p.d_weights.span()), inputs(p.d_input.span());
  for (std::int64_t tap = 0; tap < p.taps; ++tap)
    weights.add(static_cast<double>(p.d_weights[p.weight_at(out, in, tap)]),
                d_weights[static_cast<std::size_t>(tap)]);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(d_input.size()); ++i) {
    const std::int64_t cell[3] = {i / (input_side * input_side), i / input_side % input_side, i % input_side};
    inputs.add(static_cast<double>(p.d_input[p.tensor_at(0, p.layer.inputs, p.volume, in, cell)]),
               d_input[static_cast<std::size_t>(i)]);
  }
  weights.check("gradient of the weights");
  inputs.check("gradient of the input");
  CHECK(static_cast<double>(p.d_biases[out]) == Approx(d_bias).epsilon(1e-5).margin(1e-3));
}

FilteredConvolution cube(std::int64_t images, std::int64_t inputs, std::int64_t outputs, std::int64_t kernel,
                         const nn::Axis& axis) {
  return {images, inputs, outputs, kernel, axis, axis};
}

// Several images, odd numbers of blocks, incomplete tiles, every padding, periodic volumes, rows in several parts
// of different lengths; slabs, thinner and thicker than wide, with other padding along their depth.
const std::vector<FilteredConvolution> kLayers = {cube(2, 16, 32, 3, {9, 1}),
                                                  cube(1, 32, 16, 4, {11, 0}),
                                                  cube(1, 48, 16, 4, {7, 2}),
                                                  cube(2, 16, 48, 3, {8, 0}),
                                                  cube(1, 32, 32, 3, {10, 2}),
                                                  cube(1, 16, 16, 4, {6, 3}),
                                                  cube(1, 16, 16, 4, {25, 1}),
                                                  cube(2, 16, 32, 3, {7, 1, true}),
                                                  cube(1, 32, 16, 3, {12, 1, true}),
                                                  cube(1, 16, 32, 3, {3, 1, true}),
                                                  cube(1, 16, 32, 4, {63, 0}),
                                                  cube(1, 16, 32, 3, {66, 1}),
                                                  cube(1, 16, 16, 3, {51, 1}),
                                                  {2, 16, 32, 3, {5, 0}, {9, 1}},
                                                  {1, 32, 16, 4, {7, 0}, {14, 0}},
                                                  {1, 16, 16, 4, {19, 3}, {8, 1}},
                                                  {2, 16, 16, 3, {7, 0}, {12, 1, true}},
                                                  {1, 16, 32, 3, {17, 0}, {55, 1}}};

/// The kernels for this CPU, and those of both widths with the instructions that this file is compiled for; each
/// with its width.
const std::vector<std::pair<std::int64_t, FilterKernels>> kKernels = {
    {nn::kernels().block, nn::kernels().filter},
    {8, nn::make_filter_kernels<8>("8")},
    {16, nn::make_filter_kernels<16>("16")}};

}  // namespace

TEST_CASE("filtered convolutions and their gradients agree with their definition") {
  for (const auto& [block, kernels] : kKernels) {
    for (const FilteredConvolution& layer : kLayers) {
      INFO(kernels.name << ": " << layer.images << " images, " << layer.inputs << " to " << layer.outputs
                        << " channels, depth " << layer.depth.cells << ", side " << layer.side.cells
                        << ", kernel " << layer.kernel << ", padding " << layer.depth.padding << " and "
                        << layer.side.padding << (layer.side.periodic ? ", periodic" : ""));
      Problem problem{kernels, block, layer};
      problem.run();
      REQUIRE(std::ranges::all_of(problem.results(), [](float value) { return std::isfinite(value); }));
      check_forward(problem);
      if (layer.side.cells < 30) check_gradients(problem);  // sums in double over all cells
    }
  }
}

TEST_CASE("filtered convolutions of tensors in bf16 round what those in f32 compute") {
  const auto rounded = [](const Buffer& buffer) {
    std::vector<core::Bfloat16> values;
    for (const float value : buffer.span()) values.emplace_back(value);
    return values;
  };
  for (const auto& [block, kernels] : kKernels) {
    for (const FilteredConvolution& layer : kLayers) {
      Problem problem{kernels, block, layer};
      const std::vector<core::Bfloat16> input = rounded(problem.input), d_output = rounded(problem.d_output);
      std::ranges::transform(input, problem.input.data(),
                             [](auto value) { return static_cast<float>(value); });
      std::ranges::transform(d_output, problem.d_output.data(),
                             [](auto value) { return static_cast<float>(value); });
      problem.run();
      const Buffer packed(layer.packed()), scratch(kernels.scratch(layer)),
          gradient_scratch(kernels.gradient_scratch(layer)),
          d_weights(static_cast<std::int64_t>(problem.d_weights.span().size())), d_biases(layer.outputs);
      std::vector<core::Bfloat16> output(problem.output.span().size());
      kernels.pack(layer, problem.weights.data(), packed.data());
      kernels.convolve(layer, {input.data(), true}, packed.data(),
                       {output.data(), true, problem.biases.data(), kSlope}, scratch.data());
      kernels.gradient(layer, {input.data(), true}, {d_output.data(), true}, d_weights.data(),
                       d_biases.data(), gradient_scratch.data());
      const auto bits = [](core::Bfloat16 value) { return value.bits; };
      CHECK(std::ranges::equal(output, rounded(problem.output), {}, bits, bits));
      CHECK(std::ranges::equal(d_weights.span(), problem.d_weights.span()));
      CHECK(std::ranges::equal(d_biases.span(), problem.d_biases.span()));
    }
  }
}

namespace {

/// A layer with a pool of 2³ cells, in one kernel, beside the same one after the other.
struct PooledProblem : Problem {
  nn::Pooling pooling = nn::Pooling::average;
  Volume windows = {layer.output_depth() / 2, layer.output_side() / 2};
  std::int64_t blocks = layer.images * layer.outputs / lanes, cells = layer.output_cells();
  std::vector<std::uint8_t> bits =
      std::vector<std::uint8_t>(static_cast<std::size_t>(blocks * cells * lanes / 8));
  Buffer pooled{size(layer.outputs, windows)};
  Buffer d_pooled = hashed_buffer(7, size(layer.outputs, windows));

  bool bit(std::int64_t value) const {
    return (bits[static_cast<std::size_t>(value / 8)] >> value % 8 & 1) != 0;
  }
  /// Calls function(its index, its window's) for each output of a complete window.
  template <class Function>
  void for_each_output(const Function& function) const {
    const std::int64_t side = layer.output_side();
    for (std::int64_t i = 0; i < blocks * cells * lanes; ++i) {
      const std::int64_t cell = i / lanes % cells, z = cell / (side * side) / 2, y = cell / side % side / 2,
                         x = cell % side / 2;
      if (z < windows.depth && std::max(y, x) < windows.side)
        function(i, (i / lanes / cells * windows.cells() + windows.at({z, y, x})) * lanes + i % lanes);
    }
  }
  void run_pooled() {
    Buffer packed(layer.packed());
    const Buffer scratch(kernels.scratch(layer));
    kernels.pack(layer, weights.data(), packed.data());
    kernels.convolve(layer, {input.data()}, packed.data(),
                     {pooled.data(), false, biases.data(), kSlope, pooling, bits.data()}, scratch.data());
  }
  /// The gradient of the outputs before the leaky ReLU, from that of the pool.
  nn::FilterSource gradient() const {
    if (pooling == nn::Pooling::maximum) return {d_pooled.data(), false, bits.data(), 1, 0};
    return {d_pooled.data(), false, bits.data(), 1.0f / 8, kSlope / 8};
  }
  /// Computes the gradients from that of the outputs.
  void run_backward(const nn::FilterSource& gradient) {
    Buffer packed(layer.packed());
    const Buffer scratch(kernels.scratch(layer.transposed())),
        gradient_scratch(kernels.gradient_scratch(layer));
    kernels.pack_transposed(layer, weights.data(), packed.data());
    kernels.convolve(layer.transposed(), gradient, packed.data(), {d_input.data()}, scratch.data());
    kernels.gradient(layer, {input.data()}, gradient, d_weights.data(), d_biases.data(),
                     gradient_scratch.data());
  }
};

}  // namespace

namespace {

/// Runs the problem's pool and its backward pass, then compares with the layer and the pool one after the other.
void check_pool(PooledProblem& problem) {
  problem.run();
  problem.run_pooled();
  const bool maximum = problem.pooling == nn::Pooling::maximum;
  std::vector<double> pooled(problem.pooled.span().size(), maximum ? -1e30 : 0.0);
  problem.for_each_output([&](std::int64_t i, std::int64_t window) {
    double& value = pooled[static_cast<std::size_t>(window)];
    const auto output = static_cast<double>(problem.output[i]);
    value = maximum ? std::max(value, output) : value + output / 8;
  });
  Errors errors(problem.output.span());
  for (std::size_t i = 0; i < pooled.size(); ++i)
    errors.add(static_cast<double>(problem.pooled.span()[i]), pooled[i]);
  errors.check(maximum ? "maxima" : "averages");

  Buffer expanded(static_cast<std::int64_t>(problem.output.span().size()));
  std::ranges::fill(expanded.span(), 0.0f);
  int wrong = 0;
  std::vector<int> bits_of_window(pooled.size());
  problem.for_each_output([&](std::int64_t i, std::int64_t window) {
    const bool is_set = problem.bit(i);
    const auto output = static_cast<double>(problem.output[i]);
    bits_of_window[static_cast<std::size_t>(window)] += is_set;
    const bool near = std::abs(output - pooled[static_cast<std::size_t>(window)]) < 1e-4;
    wrong += maximum ? is_set && !near : is_set != (output > 0);
    const float factor = maximum ? (is_set ? 1.0f : 0.0f) : (is_set ? 1.0f : kSlope) / 8;
    expanded[i] = problem.d_pooled[window] * factor;
  });
  CHECK(wrong == 0);
  if (maximum) CHECK(std::ranges::count(bits_of_window, 1) == std::ssize(bits_of_window));

  PooledProblem of_cells{{problem.kernels, problem.lanes, problem.layer}};
  of_cells.run_backward({expanded.data()});
  problem.run_backward(problem.gradient());
  const auto compare = [](const char* name, const Buffer& found, const Buffer& expected) {
    Errors differences(expected.span());
    for (std::size_t i = 0; i < found.span().size(); ++i)
      differences.add(static_cast<double>(found.span()[i]), static_cast<double>(expected.span()[i]));
    INFO(name << ": rms " << differences.rms());
    CHECK(differences.rms() < 3e-6);
  };
  compare("inputs", problem.d_input, of_cells.d_input);
  compare("weights", problem.d_weights, of_cells.d_weights);
  compare("biases", problem.d_biases, of_cells.d_biases);
}

}  // namespace

TEST_CASE("filtered convolutions pool their outputs and take the pool's gradient") {
  for (const auto& [block, kernels] : kKernels) {
    for (const FilteredConvolution& layer : kLayers) {
      INFO(kernels.name << ": depth " << layer.depth.cells << ", side " << layer.side.cells << ", kernel "
                        << layer.kernel);
      PooledProblem averages{{kernels, block, layer}};
      check_pool(averages);
      if (layer.kernel != 3) continue;  // only whole windows have maxima
      PooledProblem maxima{{kernels, block, layer}};
      maxima.pooling = nn::Pooling::maximum;
      check_pool(maxima);
    }
  }
}

TEST_CASE("filtered convolutions have the same bits with any number of threads") {
  const int before = omp_get_max_threads();
  for (const FilteredConvolution& layer : kLayers) {
    std::vector<float> expected;
    for (const int threads : {1, 2, 3, 8}) {
      omp_set_num_threads(threads);
      PooledProblem problem{{nn::kernels().filter, nn::kernels().block, layer}};
      if (layer.kernel == 3 && layer.side.periodic) problem.pooling = nn::Pooling::maximum;
      problem.run();
      problem.run_pooled();
      std::vector<float> results = problem.results();
      results.insert(results.end(), problem.pooled.span().begin(), problem.pooled.span().end());
      if (threads == 1) expected = results;
      CHECK((results == expected));
    }
  }
  omp_set_num_threads(before);
}

TEST_CASE("a filtered network computes what a direct one does") {
  for (const char* name : {"cosmoflow64", "cosmonet32", "mlperf"}) {
    const nn::NetworkSpec spec = nn::find_network(name);
    const nn::Shape input{1, spec.name == "cosmonet32" ? 32 : 64};
    constexpr int kOutputs = 3, kBatch = 2;
    const auto run = [&](nn::ConvolutionMethod method) {
      nn::Network network(
          nn::with_outputs(spec, kOutputs), input, kOutputs, kBatch, nn::Mode::training,
          {nn::Precision::f32,
           nn::choose_filtered(spec, nn::take_census(spec, input, kOutputs), kBatch, method)});
      test::set_start_values(network);
      const std::vector<float> voxels = test::hashed_values(5, network.input().size());
      std::ranges::copy(voxels, network.input().begin());
      const std::span<const float> outputs = network.forward();
      std::vector<float> results(outputs.begin(), outputs.end());
      network.backward(test::hashed_values(6, kBatch * kOutputs), [](std::span<float>) {});
      for (const nn::Parameter& parameter : network.parameters()) {
        const std::vector<float> gradient = test::plain(network, parameter, parameter.gradient);
        results.insert(results.end(), gradient.begin(), gradient.end());
      }
      const auto filtered = [](const nn::OperationRecord& operation) {
        return operation.implementation == nn::kernels().filter.name;
      };
      const auto operations = network.operations();
      const auto count = std::ranges::count_if(operations, filtered);
      CHECK((count >= 3) == (method == nn::ConvolutionMethod::filtered));
      CHECK((count == 0) == (method == nn::ConvolutionMethod::direct));
      return results;
    };
    const std::vector<float> direct = run(nn::ConvolutionMethod::direct),
                             filtered = run(nn::ConvolutionMethod::filtered);
    REQUIRE(direct.size() == filtered.size());
    Errors errors(direct);
    for (std::size_t i = 0; i < direct.size(); ++i)
      errors.add(static_cast<double>(filtered[i]), static_cast<double>(direct[i]));
    INFO(name << ": " << errors.rms());
    // Of two values that differ by rounding only, another may be the maximum, whose gradient then goes elsewhere.
    CHECK(errors.rms() < (spec.name == "mlperf" ? 1e-3 : 1e-5));
  }
}
