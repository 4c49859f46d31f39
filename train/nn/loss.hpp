#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

namespace cosmo::nn {

/// Which rows of a batch count, and what the batch's gradient is divided by.
struct LossRows {
  int parameters;      ///< P, labels of a row
  int valid;           ///< rows 0 … valid-1 count; the rest pad the batch
  double normaliser;   ///< valid rows of the global batch, all ranks together
  int components = 0;  ///< of the mixture that the network predicts; 0: one Gaussian, or labels
};

/// Loss of what the network says (rows, outputs) against labels (rows, P) in [-1, 1]: the sum over the valid
/// rows of each row's loss a label, in double; divided by the normaliser and summed over ranks it is the
/// batch's loss. Writes d_output (rows, outputs), the gradient of that batch loss; zeros beyond the valid
/// rows. Throws Error{internal} if the sizes disagree.
using Loss = double (*)(std::span<float> d_output, std::span<const float> outputs,
                        std::span<const float> labels, const LossRows& rows);

/// |output - label|; the gradient where they are equal is 0.
double mean_absolute_error(std::span<float> d_output, std::span<const float> outputs,
                           std::span<const float> labels, const LossRows& rows);
/// (output - label)²
double mean_squared_error(std::span<float> d_output, std::span<const float> outputs,
                          std::span<const float> labels, const LossRows& rows);
/// -log(density of the labels) / P under the mixture that mixture_of reads off the outputs, whose Gaussians
/// are cut off outside of [-1, 1]; natural logarithm. log 2 a label is what the flat prior has.
double likelihood(std::span<float> d_output, std::span<const float> outputs, std::span<const float> labels,
                  const LossRows& rows);

/// A loss that --loss names.
struct LossEntry {
  const char* name;
  Loss value;
  bool density;        ///< the network predicts what mixture_of reads; else labels
  int components = 0;  ///< of a mixture

  /// Outputs of the network. Throws Error{config} if the loss does not take so many parameters.
  int outputs(int parameters) const;
  /// Biases with which the network's last layer begins; empty: as the others.
  std::vector<float> start(int parameters) const;
};

inline constexpr std::array<LossEntry, 4> kLosses = {{{"mae", &mean_absolute_error, false},
                                                      {"mse", &mean_squared_error, false},
                                                      {"gaussian", &likelihood, true},
                                                      {"mixture", &likelihood, true, 3}}};

/// Throws Error{format} for a name that is none.
const LossEntry& find_loss(std::string_view name);

}  // namespace cosmo::nn
