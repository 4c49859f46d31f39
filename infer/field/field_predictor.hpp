#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/buffer.hpp"
#include "dataset/voxels/input_maker.hpp"
#include "infer/predict/model.hpp"
#include "nn/network.hpp"

namespace cosmo::infer {

/// Predicts fields on the voxels of whole periodic boxes by one or several networks, whose predictions are averaged. The
/// boxes may have another size than those of the training: the networks' layers have the same weights at every place.
class FieldPredictor {
 public:
  /// `models` are those in `directories`, of one input and target; boxes have `side` voxels per side. Throws Error{config} for a
  /// side that the networks cannot take, and what reading weights does.
  FieldPredictor(Models models, const std::vector<std::string>& directories, int side);
  /// Bytes that one takes.
  static std::size_t memory_bytes(Models models, int side);

  /// The field (channels, side, side, side), in physical units, or the logits of classes, of a box (C, side, side, side) and its
  /// velocities (3, side, side, side), if the models read them; valid until the next call. T is std::uint16_t or float, as the
  /// models' transform takes.
  template <class T>
  std::span<const float> predict(std::span<const T> box, std::span<const float> velocity);

 private:
  dataset::InputMaker inputs_;
  bool reads_velocity_;
  core::Buffer<float> input_;
  std::vector<nn::Network> networks_;
  std::vector<nn::FieldTarget>
      targets_;  ///< what the networks' outputs stand for, each in units of its own training
  std::vector<float> field_;
};

}  // namespace cosmo::infer
