#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/random.hpp"
#include "nn/density/columns.hpp"

namespace cosmo::nn {

/// Sizes of a FactorNetwork.
struct FactorShape {
  int inputs, hidden, outputs;

  /// Number of weights and biases.
  std::size_t weights() const;
  bool operator==(const FactorShape&) const = default;
};

/// What a FactorNetwork keeps of a block of samples between its passes; made once for many blocks of this width.
struct FactorPass {
  FactorPass(const FactorShape& shape, int columns);

  Columns first, second;       ///< hidden units before they are bent (hidden, columns)
  Columns bent_one, bent_two;  ///< and after (hidden, columns)
  Columns outputs;             ///< (outputs, columns)
  Columns back_one, back_two;  ///< derivatives with respect to the hidden units (hidden, columns)
};

/// Where bend of a FactorNetwork reaches ±1.
inline constexpr double kBend = 3;

/// A small network: outputs = biases + skip x + last bend(second bend(first x)), with two layers of hidden units, and
/// bend(x) = x (27 + x²) / (27 + 9 x²) for |x| < 3, ±1 beyond: nearly tanh.
class FactorNetwork {
 public:
  /// All weights zero.
  explicit FactorNetwork(const FactorShape& shape);
  /// Weights in the order: first (hidden, inputs), its biases (hidden), second (hidden, hidden), its biases (hidden),
  /// last (outputs, hidden), skip (outputs, inputs), biases (outputs); matrices row by row.
  FactorNetwork(const FactorShape& shape, std::vector<double> weights);

  /// Draws the weights of the hidden layers at {index, 0 ...}: normal numbers with the variance 1 / inputs of the layer,
  /// for biases 1 / 4. All others stay zero, so that the outputs do not depend on the inputs yet.
  void randomise(const core::RandomStream& stream, std::uint32_t index);

  const FactorShape& shape() const { return shape_; }
  std::span<double> weights() { return weights_; }
  std::span<const double> weights() const { return weights_; }
  /// Number of the last weights, which are the linear part: skip (outputs, inputs) and the biases of the outputs.
  std::size_t outer_weights() const;
  /// The biases of the outputs (outputs).
  std::span<double> biases();

  /// Computes pass.outputs from x (inputs, columns).
  void forward(const Columns& x, FactorPass& pass) const;
  /// Adds derivatives with respect to the weights, in their order, to `gradient`, from those with respect to the outputs
  /// (outputs, columns), after forward(x, pass). Columns that shall not count have zeros.
  void backward(const Columns& x, const Columns& outputs, FactorPass& pass, std::span<double> gradient) const;

  /// The weights part by part: matrices (outputs of the layer, its inputs), row by row.
  struct View {
    std::span<const double> first, first_biases, second, second_biases, last, skip, biases;
  };
  /// Valid as long as the network.
  View view() const;

  /// The network of the remaining inputs where the first ones have these values.
  FactorNetwork with_inputs(std::span<const double> values) const;

 private:
  FactorShape shape_;
  std::vector<double> weights_;
};

}  // namespace cosmo::nn
