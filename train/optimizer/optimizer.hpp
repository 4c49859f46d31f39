#pragma once
// The interface of optimizers for the trainer and checkpoints.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nn/parameter.hpp"
#include "train/optimizer/learning_rate.hpp"

namespace cosmo::train {

/// An optimizer's memory of earlier gradients, one value for each value of the parameters.
struct Moment {
  std::string name;         ///< name of its group in checkpoints
  std::span<float> values;  ///< laid out like Network::weights(); a parameter's part starts at its offset
};

/// Turns gradients into new values, in place on a network's arenas. Results do not depend on the number of
/// threads. Padding (value and gradient zero) stays zero.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// Takes step n, counted from 0: updates values and moments from the gradients, which stay unchanged.
  virtual void step(std::int64_t n) = 0;

  /// The moments, for checkpoints, which read and write through the spans.
  virtual std::vector<Moment> moments() = 0;

  /// η of step n.
  double learning_rate(std::int64_t n) const { return learning_rate_.at(n); }

 protected:
  /// Throws Error{config} on values outside their range.
  explicit Optimizer(LearningRate learning_rate);

 private:
  LearningRate learning_rate_;
};

/// A stretch of one parameter; its size does not depend on the number of threads.
struct Block {
  std::size_t parameter;
  std::size_t first;  ///< index in the arenas
  std::size_t size;
  float* values;
  const float* gradient;
};

/// Splits the parameters into blocks, one after the other. Throws Error{internal} if one has no gradient.
std::vector<Block> split_into_blocks(std::span<const nn::Parameter> parameters);

/// Size of the arenas that the parameters lie in, including padding [floats].
std::size_t arena_size(std::span<const nn::Parameter> parameters);

/// Calls function(index of the block, block) for all blocks, on all threads.
template <class Function>
void for_each_block(const std::vector<Block>& blocks, Function function) {
#pragma omp parallel for schedule(static)
  for (std::size_t b = 0; b < blocks.size(); ++b) function(b, blocks[b]);
}

}  // namespace cosmo::train
