#pragma once

#include <deque>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/buffer.hpp"
#include "core/parallel/communicator.hpp"
#include "dataset/voxels/input_maker.hpp"
#include "infer/predict/model.hpp"
#include "nn/cut/cut_plan.hpp"
#include "nn/network.hpp"

namespace cosmo::infer {

/// Predicts fields on the voxels of whole periodic boxes by one or several networks, whose predictions are averaged. The
/// boxes may have another size than those of the training: the networks' layers have the same weights at every place.
/// The ranks of a group share a box: each makes the whole input and has the whole field, and computes its planes of what lies
/// between, nearly all of the memory.
class FieldPredictor {
 public:
  /// `models` are those in `directories`, of one input and target; boxes have `side` voxels per side; `group`, which must outlive
  /// this: the ranks that share them. Throws Error{config} for a side that the networks cannot take, or cannot cut for the
  /// group, and what reading weights does.
  FieldPredictor(Models models, const std::vector<std::string>& directories, int side,
                 const core::Communicator& group);
  /// Throws Error{config} unless the network's field has the voxels of its input, of this side.
  static void ensure_takes(const nn::ModelManifest& model, int side);
  /// Bytes that one takes on a rank of a group.
  static std::size_t memory_bytes(Models models, int side, const core::Communicator& group);

  /// The field (channels, side, side, side), in physical units, or the logits of classes, of a box (C, side, side, side) and its
  /// velocities (3, side, side, side), if the models read them; valid until the next call. T is std::uint16_t or float, as the
  /// models' transform takes. Collective over the group.
  template <class T>
  std::span<const float> predict(std::span<const T> box, std::span<const float> velocity);

 private:
  /// The outputs of network m for the input, on all ranks.
  std::span<const float> outputs_of(std::size_t m);

  const core::Communicator& group_;
  int side_;
  dataset::InputMaker inputs_;
  bool reads_velocity_;
  core::Buffer<float> input_;
  std::deque<nn::CutPlan> plans_;  ///< the networks'; none in a group of one rank
  std::vector<float> planes_;      ///< those of the input that the next network reads
  std::vector<float> gathered_;    ///< outputs of all ranks
  std::vector<nn::Network> networks_;
  std::vector<nn::FieldTarget>
      targets_;  ///< what the networks' outputs stand for, each in units of its own training
  std::vector<float> field_;
};

}  // namespace cosmo::infer
