#include "nn/density/factor_network.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace cosmo::nn {

namespace {

std::size_t elements(int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); }

/// The weights, part by part, in a vector of them.
template <class Number>
struct Parts {
  std::span<Number> first, first_biases, second, second_biases, last, skip, biases;

  Parts(const FactorShape& s, std::span<Number> weights) {
    std::size_t used = 0;
    const auto take = [&](std::size_t count) {
      return weights.subspan(std::exchange(used, used + count), count);
    };
    first = take(elements(s.hidden, s.inputs));
    first_biases = take(elements(s.hidden, 1));
    second = take(elements(s.hidden, s.hidden));
    second_biases = take(elements(s.hidden, 1));
    last = take(elements(s.outputs, s.hidden));
    skip = take(elements(s.outputs, s.inputs));
    biases = take(elements(s.outputs, 1));
  }
};

void bend(const Columns& from, Columns& to) {
  for (int i = 0; i < from.rows(); ++i) {
    const double* in = from.row(i).data();
    double* out = to.row(i).data();
    for (int j = 0; j < from.width(); ++j) {
      const double x = std::min(std::max(in[j], -kBend), kBend), square = x * x;
      out[j] = x * (27 + square) / (27 + 9 * square);
    }
  }
}

/// Multiplies by the derivative of bend at `from`.
void unbend(const Columns& from, Columns& derivatives) {
  for (int i = 0; i < from.rows(); ++i) {
    const double* in = from.row(i).data();
    double* out = derivatives.row(i).data();
    for (int j = 0; j < from.width(); ++j) {
      const double x = std::min(std::max(in[j], -kBend), kBend), square = x * x;
      const double root = (9 - square) / (9 + 3 * square);
      out[j] *= root * root;
    }
  }
}

}  // namespace

std::size_t FactorShape::weights() const {
  return elements(hidden, inputs + 1) + elements(hidden, hidden + 1) + elements(outputs, hidden + inputs + 1);
}

FactorPass::FactorPass(const FactorShape& shape, int columns)
    : first(shape.hidden, columns),
      second(shape.hidden, columns),
      bent_one(shape.hidden, columns),
      bent_two(shape.hidden, columns),
      outputs(shape.outputs, columns),
      back_one(shape.hidden, columns),
      back_two(shape.hidden, columns) {}

FactorNetwork::FactorNetwork(const FactorShape& shape) : shape_(shape), weights_(shape.weights()) {}

FactorNetwork::FactorNetwork(const FactorShape& shape, std::vector<double> weights)
    : shape_(shape), weights_(std::move(weights)) {}

void FactorNetwork::randomise(const core::RandomStream& stream, std::uint32_t index) {
  const Parts<double> parts(shape_, weights_);
  std::uint32_t place = 0;
  const auto draw = [&](std::span<double> values, double deviation) {
    for (double& value : values) value = deviation * stream.normals({index, place++, 0})[0];
  };
  draw(parts.first, 1 / std::sqrt(std::max(shape_.inputs, 1)));
  draw(parts.first_biases, 0.5);
  draw(parts.second, 1 / std::sqrt(shape_.hidden));
  draw(parts.second_biases, 0.5);
}

std::span<double> FactorNetwork::biases() { return Parts<double>(shape_, weights_).biases; }

FactorNetwork::View FactorNetwork::view() const {
  const Parts<const double> parts(shape_, weights_);
  return {parts.first, parts.first_biases, parts.second, parts.second_biases,
          parts.last,  parts.skip,         parts.biases};
}

std::size_t FactorNetwork::outer_weights() const { return elements(shape_.outputs, shape_.inputs + 1); }

void FactorNetwork::forward(const Columns& x, FactorPass& pass) const {
  const Parts<const double> parts(shape_, weights_);
  multiply(parts.first, parts.first_biases, x, pass.first);
  bend(pass.first, pass.bent_one);
  multiply(parts.second, parts.second_biases, pass.bent_one, pass.second);
  bend(pass.second, pass.bent_two);
  multiply(parts.last, parts.biases, pass.bent_two, pass.outputs);
  multiply(parts.skip, {}, x, pass.outputs, true);
}

void FactorNetwork::backward(const Columns& x, const Columns& outputs, FactorPass& pass,
                             std::span<double> gradient) const {
  const Parts<const double> parts(shape_, weights_);
  const Parts<double> grown(shape_, gradient);
  add_outer(outputs, x, grown.skip, grown.biases);
  add_outer(outputs, pass.bent_two, grown.last, {});
  multiply_transposed(parts.last, outputs, pass.back_two);
  unbend(pass.second, pass.back_two);
  add_outer(pass.back_two, pass.bent_one, grown.second, grown.second_biases);
  multiply_transposed(parts.second, pass.back_two, pass.back_one);
  unbend(pass.first, pass.back_one);
  add_outer(pass.back_one, x, grown.first, grown.first_biases);
}

FactorNetwork FactorNetwork::with_inputs(std::span<const double> values) const {
  const int given = static_cast<int>(values.size()), rest = shape_.inputs - given;
  FactorNetwork made({rest, shape_.hidden, shape_.outputs});
  const Parts<const double> from(shape_, weights_);
  const Parts<double> to(made.shape_, made.weights_);
  const auto fix = [&](std::span<const double> matrix, std::span<const double> biases, std::span<double> left,
                       std::span<double> moved) {
    for (std::size_t i = 0; i < biases.size(); ++i) {
      const auto row = matrix.subspan(i * elements(shape_.inputs, 1), elements(shape_.inputs, 1));
      moved[i] = biases[i];
      for (std::size_t j = 0; j < values.size(); ++j) moved[i] += row[j] * values[j];
      std::ranges::copy(row.subspan(values.size()),
                        left.begin() + static_cast<std::ptrdiff_t>(i * elements(rest, 1)));
    }
  };
  fix(from.first, from.first_biases, to.first, to.first_biases);
  fix(from.skip, from.biases, to.skip, to.biases);
  std::ranges::copy(from.second, to.second.begin());
  std::ranges::copy(from.second_biases, to.second_biases.begin());
  std::ranges::copy(from.last, to.last.begin());
  return made;
}

}  // namespace cosmo::nn
