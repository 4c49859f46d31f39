#pragma once

#include <array>
#include <span>

#include "core/named.hpp"

namespace cosmo::nn {

/// Which rows of a batch count, and what the batch's gradient is divided by.
struct LossRows {
  int outputs;        ///< values in a row
  int valid;          ///< rows 0 … valid-1 count; the rest pad the batch
  double normaliser;  ///< valid rows of the global batch, all ranks together
};

/// Loss of predictions (rows, outputs) against targets (rows, outputs): the sum over the valid rows of each
/// row's average over its outputs, in double; divided by the normaliser and summed over ranks it is the
/// batch's loss. Writes d_output (rows, outputs), the gradient of that batch loss; zeros beyond the valid
/// rows. Throws Error{internal} if the sizes disagree.
using Loss = double (*)(std::span<float> d_output, std::span<const float> predictions,
                        std::span<const float> targets, const LossRows& rows);

/// |prediction - target|; the gradient where they are equal is 0.
double mean_absolute_error(std::span<float> d_output, std::span<const float> predictions,
                           std::span<const float> targets, const LossRows& rows);
/// (prediction - target)²
double mean_squared_error(std::span<float> d_output, std::span<const float> predictions,
                          std::span<const float> targets, const LossRows& rows);

inline constexpr std::array<core::Named<Loss>, 2> kLosses = {
    {{"mae", &mean_absolute_error}, {"mse", &mean_squared_error}}};

}  // namespace cosmo::nn
