#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataset/load/split_reader.hpp"
#include "dataset/measure/summary_statistics.hpp"
#include "nn/model/model_manifest.hpp"

namespace cosmo::infer {

/// Compares samples with those that a model was trained on: the mean of their voxels and P(k) in each bin.
///
/// The range in training comes from at most 256 training samples, so that others of their kind may lie a
/// little outside. A figure is strange if it lies beyond that range by more than half of it on a logarithmic
/// scale, and by more than a tenth; the mean of a field, which has a sign, if by more than half of it on a
/// linear scale.
class Familiarity {
 public:
  /// Compares nothing if the model does not record the range of its training samples.
  explicit Familiarity(const nn::ModelManifest& model);

  /// Adds a sample (C, n, n, n).
  void add(std::span<const std::uint16_t> counts) { add_voxels(counts); }
  void add(std::span<const float> field) { add_voxels(field); }

  /// A sentence on each figure, the mean and P(k) of each channel, that is strange in some of the samples or
  /// on average, with its strangest value and the range in training.
  std::vector<std::string> warnings() const;

 private:
  /// One figure: the mean of a channel, or its P(k) in a bin.
  struct Figure {
    std::string name;
    double low, high;  ///< range in training
    bool logarithmic;
    int strange = 0;      ///< samples
    double furthest = 0;  ///< how far the strangest one is outside, as oddity()
    double value = 0;     ///< its value
    double sum = 0;       ///< over all samples

    /// How far the average of n samples lies outside, in margins: it is strange above 1.
    double oddity(double average, int n) const;
    void add(double sample);
  };
  /// A channel's mean and P(k).
  struct Channel {
    Figure mean;
    std::vector<Figure> power;
    int strange_power = 0;  ///< samples with some strange bin
  };
  std::string sentence(const Figure& figure, int strange) const;
  template <class Voxel>
  void add_voxels(std::span<const Voxel> sample);

  std::vector<Channel> channels_;
  std::optional<dataset::SampleSummary> summary_;
  int samples_ = 0;
};

/// A sentence on each parameter that more than one universe in a hundred has predicted outside of its range in
/// training by more than a tenth of that range. A trained network predicts within the range, so these data
/// are unlike those of its training even where mean and P(k) are not. predictions (universes)(P).
std::vector<std::string> predictions_outside(const core::ParameterSpace& trained,
                                             const std::vector<std::vector<double>>& predictions);

/// A sentence on each parameter whose truths lie partly outside of the model's range.
std::vector<std::string> truths_outside(const core::ParameterSpace& trained,
                                        const dataset::SplitReader& split);

/// warnings() of up to 64 samples of a split (8 if they are large), spread evenly. Throws what
/// SplitReader::read does.
std::vector<std::string> compare_with_training(const nn::ModelManifest& model, dataset::SplitReader& split);

}  // namespace cosmo::infer
