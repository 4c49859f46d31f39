#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

namespace cosmo::nn {

/// Which rows of a batch count, and what the batch's gradient is divided by.
struct LossRows {
  int parameters;      ///< P, labels per row
  int valid;           ///< rows 0 … valid-1 count; the rest pad the batch
  double normaliser;   ///< valid rows of the global batch, all ranks together
  int components = 0;  ///< components of the predicted mixture; 0: one Gaussian, or labels
};

/// Loss of the network's outputs (rows, outputs) against labels (rows, P) in [-1, 1]: returns the sum over
/// the valid rows of each row's loss per label, in double; divided by the normaliser and summed over ranks,
/// it is the batch's loss. Writes d_output (rows, outputs), the gradient of that batch loss, with zeros
/// beyond the valid rows. Throws Error{internal} if the sizes disagree.
using Loss = double (*)(std::span<float> d_output, std::span<const float> outputs,
                        std::span<const float> labels, const LossRows& rows);

/// |output - label|; the gradient is 0 where they are equal.
double mean_absolute_error(std::span<float> d_output, std::span<const float> outputs,
                           std::span<const float> labels, const LossRows& rows);
/// (output - label)²
double mean_squared_error(std::span<float> d_output, std::span<const float> outputs,
                          std::span<const float> labels, const LossRows& rows);
/// -log(density of the labels) / P, natural logarithm, under the mixture that mixture_of reads from the
/// outputs, whose Gaussians are cut off outside [-1, 1]. The flat prior has a loss of log 2 per label.
double likelihood(std::span<float> d_output, std::span<const float> outputs, std::span<const float> labels,
                  const LossRows& rows);

/// A loss that --loss names.
struct LossEntry {
  const char* name;
  Loss value;
  bool density;        ///< the network predicts what mixture_of reads; otherwise labels
  int components = 0;  ///< number of components of a mixture

  /// Number of outputs of the network. Throws Error{config} if the loss does not take this many parameters.
  int outputs(int parameters) const;
  /// Initial biases of the network's last layer; empty: as in the other layers.
  std::vector<float> start(int parameters) const;
};

inline constexpr std::array<LossEntry, 4> kLosses = {{{"mae", &mean_absolute_error, false},
                                                      {"mse", &mean_squared_error, false},
                                                      {"gaussian", &likelihood, true},
                                                      {"mixture", &likelihood, true, 3}}};

/// Returns the loss of this name. Throws Error{format} if there is none.
const LossEntry& find_loss(std::string_view name);

}  // namespace cosmo::nn
