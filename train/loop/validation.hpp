#pragma once

#include <string>

#include "core/parallel/communicator.hpp"
#include "dataset/measure/prediction_table.hpp"
#include "dataset/regression/baseline_labels.hpp"
#include "nn/loss.hpp"
#include "nn/network.hpp"
#include "train/state/checkpoint.hpp"

namespace cosmo::train {

/// The network's results on the validation split.
struct Validation {
  EpochMetrics metrics;        ///< validation_loss and rms errors; the other figures are left zero
  double mean_absolute_error;  ///< error of labels in [−1, 1], whatever the loss
};

/// Predicts the split. Collective over comm; every rank gets the same bits. Throws an agreed Error{numeric}
/// naming a sample whose prediction is not finite.
Validation validate(const core::Communicator& comm, const nn::LossEntry& loss,
                    const dataset::SplitToPredict& data, nn::Network& network,
                    dataset::BaselineLabels* baseline = nullptr);

/// One line such as "epoch 7: loss 0.0812, validation 0.0934".
std::string describe(const EpochMetrics& metrics);

}  // namespace cosmo::train
