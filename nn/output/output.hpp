#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/format/json.hpp"
#include "core/run/options.hpp"
#include "nn/output/classes.hpp"
#include "nn/output/density.hpp"
#include "nn/output/field.hpp"
#include "nn/output/labels.hpp"

namespace cosmo::nn {

using OutputKind = std::variant<Labels, Density, Field, Classes>;

/// A loss that --loss names, and the kind of output that it compares with the truth.
struct LossEntry {
  const char* name;
  const char* meaning;
  int components;  ///< components of a mixture unless others are asked for; 0: the loss has none
  /// The output of labels; nullptr if the loss has none.
  OutputKind (*make)(int parameters, int components);
  std::optional<LabelError> of_fields =
      std::nullopt;  ///< the error of a field's voxels that it is, if it is one
  bool of_classes = false;
};

inline constexpr auto kLosses = std::to_array<LossEntry>(
    {{"mae", "the mean absolute error of labels in [-1, 1], or of a field's voxels in standard deviations", 0,
      [](int parameters, int) -> OutputKind {
        return Labels{parameters, LabelError::absolute};
      },
      LabelError::absolute},
     {"mse", "their mean squared error", 0,
      [](int parameters, int) -> OutputKind {
        return Labels{parameters, LabelError::squared};
      },
      LabelError::squared},
     {"gaussian",
      "the network predicts means and a full covariance, and the loss is -log of the density per label, that Gaussian being cut "
      "off outside [-1, 1], for up to five parameters",
      0,
      [](int parameters, int) -> OutputKind {
        return Density{parameters, 0};
      }},
     {"mixture",
      "the same with N Gaussians, 1 to 8, 3 unless given, for posteriors with several peaks or tails", 3,
      [](int parameters, int components) -> OutputKind {
        return Density{parameters, components};
      }},
     {"cross-entropy",
      "-log of the probability of a voxel's class, weighted by the class's share of the training's voxels to the power of -N, 0 to 1, 0.5 unless given",
      0, nullptr, std::nullopt, true}});

/// N of --loss cross-entropy:N unless another is asked for.
inline constexpr double kClassExponent = 0.5;

/// Number of components of a loss unless others are asked for; 0 if it has none.
int default_components(std::string_view loss);

/// What a network's outputs mean and how they are compared with the truth. Code that differs between the kinds visits
/// kind(), so that a new kind does not compile before there is an answer everywhere.
class Output {
 public:
  /// The output for `parameters` labels of a training with the loss called `loss`. `components`: of its mixture; 0 for
  /// other losses. Throws Error{format} if there is no such loss.
  Output(std::string_view loss, int parameters, int components = 0);
  /// The output of a training that predicts a field. Throws Error{config} if the loss is not one of fields.
  Output(std::string_view loss, Shape field);
  /// The output of a training that predicts classes, a channel for each. Throws Error{config} if the loss is not one of classes.
  Output(std::string_view loss, Shape logits, std::vector<double> weights);
  /// The output that --loss asks for, N of NAME:N being the number of Gaussians of a mixture. Throws Error{usage} for a
  /// number that the loss does not take, Error{config} for one out of range.
  static Output requested(const core::Options::NamedValue& option, int parameters);
  /// The same of a training that predicts a field.
  static Output requested(const core::Options::NamedValue& option, Shape field);
  /// The same of a training that predicts classes with these shares of the training's voxels.
  static Output requested(const core::Options::NamedValue& option, Shape logits,
                          std::span<const double> shares);

  /// (channels, size) of a sample's outputs; size 1: a vector.
  Shape shape() const;
  /// Whether the outputs are a field, or classes, on the input's voxels.
  bool is_field() const { return std::holds_alternative<Field>(kind_) || has_classes(); }
  bool has_classes() const { return std::holds_alternative<Classes>(kind_); }
  /// Number of a sample's outputs.
  int values() const { return static_cast<int>(shape().elements()); }
  /// Initial biases of the network's last layer; empty: as in the other layers.
  std::vector<float> start() const;
  /// Loss of the outputs (rows, values) against labels (rows, P) in [-1, 1], or against fields (rows, values), or against classes (rows, voxels): returns the
  /// sum over the valid rows of each row's loss per label, or per voxel, in double; divided by the normaliser and summed over ranks, it is the batch's loss. Rows of planes have their part of it. Writes
  /// d_output (rows, values), the gradient of that batch loss, with zeros beyond the valid rows. Throws
  /// Error{internal} if the sizes disagree.
  double loss(const LossArrays& arrays, const LossRows& rows) const;
  /// Number of values of the map that calibrates predictions; 0 if they are not calibrated.
  std::size_t calibration_values() const;
  /// Throws Error{config} if the network's outputs cannot have this meaning. `census`: that of the network at the size of the
  /// input.
  void ensure_made_by(const NetworkSpec& network, const NetworkCensus& census) const;

  const OutputKind& kind() const { return kind_; }
  const std::string& loss_name() const { return loss_; }
  /// The value of --loss that asks for it: "mse", "mixture:3".
  std::string option() const;
  /// Number of components of a mixture; 0 for other losses.
  int components() const { return components_; }
  /// Adds "loss" and, for a mixture, "components" to what identifies a training.
  void identify(core::Json& config) const;

  bool operator==(const Output&) const = default;

 private:
  std::string loss_;
  int components_;
  OutputKind kind_;
};

}  // namespace cosmo::nn
