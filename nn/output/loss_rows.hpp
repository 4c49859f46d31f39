#pragma once

#include <algorithm>
#include <span>

#include "core/error.hpp"

namespace cosmo::nn {

/// Which rows of a batch count, and what the batch's gradient is divided by.
struct LossRows {
  int valid;          ///< rows 0 … valid-1 count; the rest pad the batch
  double normaliser;  ///< valid rows of the global batch, all ranks together
  int values = 0;     ///< numbers of a row if it holds planes of a field or of classes; 0: it holds all

  /// Numbers of a row, of outputs with this many.
  int width(int outputs) const { return values > 0 ? values : outputs; }
};

/// What a loss compares: outputs (rows, width) with targets (rows, P), and where it writes the gradient (rows, width).
struct LossArrays {
  std::span<float> d_output;
  std::span<const float> outputs;
  std::span<const float> targets;

  /// Throws Error{internal} unless they hold the valid rows.
  void check(const LossRows& rows, int width, int parameters) const {
    const auto valid = static_cast<std::size_t>(std::max(rows.valid, 0));
    core::ensure(
        parameters >= 1 && rows.valid >= 0 && rows.normaliser > 0 && outputs.size() == d_output.size() &&
            targets.size() >= valid * static_cast<std::size_t>(parameters) &&
            outputs.size() >= valid * static_cast<std::size_t>(width),
        core::Fault::internal, "A loss over {} rows of {} labels got {} outputs, {} labels, {} gradients.",
        rows.valid, parameters, outputs.size(), targets.size(), d_output.size());
  }
};

}  // namespace cosmo::nn
