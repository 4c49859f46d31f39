#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataset/load/split_reader.hpp"
#include "dataset/measure/summary_statistics.hpp"
#include "nn/model/model_manifest.hpp"

namespace cosmo::infer {

/// Compares samples with those that a model was trained on: the mean of their voxels and P(k) in each bin; of counts of
/// another size the mean alone.
///
/// The range in training comes from at most 256 training samples, so that others of their kind may lie a
/// little outside. A figure is strange if it lies beyond that range by more than half of it on a logarithmic
/// scale, and by more than a tenth; the mean of a field, which has a sign, if by more than half of it on a
/// linear scale.
class Familiarity {
 public:
  /// Compares nothing if the model does not record the range of its training samples.
  explicit Familiarity(const nn::ModelManifest& model);

  /// Adds a sample (C, n, n, n); a field of another size is left out.
  void add(std::span<const std::uint16_t> counts) { add_voxels(counts); }
  void add(std::span<const float> field) { add_voxels(field); }
  /// Adds a sample from the mean and P(k) of each of its channels (C), measured by a dataset::SampleSummary.
  void add(std::span<const dataset::SummaryStatistics> channels);
  /// Samples to come are of the universe called so, which warnings() then names.
  void begin(std::string universe) { universes_.push_back(std::move(universe)); }

  /// A sentence on each figure, the mean and P(k) of each channel, that is strange in some of the samples or
  /// on average, with its strangest value and the range in training.
  std::vector<std::string> warnings() const;

 private:
  /// One figure: the mean of a channel, or its P(k) in a bin.
  struct Figure {
    std::string name;
    double low, high;  ///< range in training
    bool logarithmic;
    int samples = 0;
    int strange = 0;      ///< samples
    double furthest = 0;  ///< how far the strangest one is outside, as oddity()
    double value = 0;     ///< its value
    double sum = 0;       ///< over all samples
    std::set<std::size_t> strange_universes = {};

    double average() const { return sum / samples; }
    /// How far the average of n samples lies outside, in margins: it is strange above 1.
    double oddity(double average, int n) const;
    /// That of all samples together; 0 without any.
    double average_oddity() const { return samples > 0 ? oddity(average(), samples) : 0; }
    /// Whether this sample, of a universe with that number, is strange.
    bool add(double sample, std::size_t universe);
  };
  /// A channel's mean and P(k).
  struct Channel {
    Figure mean;
    std::vector<Figure> power;
    int strange_power = 0;  ///< samples with some strange bin
    std::set<std::size_t> strange_universes = {};
  };
  std::string sentence(const Figure& figure, int strange, const std::set<std::size_t>& universes) const;
  template <class Voxel>
  void add_voxels(std::span<const Voxel> sample);

  std::vector<Channel> channels_;
  std::optional<dataset::SampleSummary> summary_;
  std::size_t voxels_ = 0;              ///< number in a channel of a training sample
  std::vector<std::string> universes_;  ///< that were begun
};

/// A sentence on each parameter that more than one universe in a hundred has predicted outside of its range in
/// training by more than a tenth of that range. A trained network predicts within the range, so these data
/// are unlike those of its training even where mean and P(k) are not. predictions (universes)(P). With `names`
/// (universes) it names them.
std::vector<std::string> predictions_outside(const core::ParameterSpace& trained,
                                             const std::vector<std::vector<double>>& predictions,
                                             const std::vector<std::string>& names = {});

/// A sentence on each parameter whose truths lie partly outside of the model's range.
std::vector<std::string> truths_outside(const core::ParameterSpace& trained,
                                        const dataset::SplitReader& split);

/// warnings() of up to 64 samples of a split (8 if they are large), spread evenly. Throws what
/// SplitReader::read does.
std::vector<std::string> compare_with_training(const nn::ModelManifest& model, dataset::SplitReader& split);

}  // namespace cosmo::infer
