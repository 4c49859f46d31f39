#pragma once

#include <string>
#include <vector>

#include "train/state/checkpoint.hpp"

namespace cosmo::train {

/// An SVG image of training and validation loss against the epoch, like Fig. 5 of Mathuriya et al. 2018; the
/// same text for the same history, which must not be empty. Of a network with a baseline both are those of the network
/// alone; epochs of an earlier version have no such validation loss. `best` is the epoch to mark. `network` and `loss`
/// (their names) are plain text.
std::string loss_figure(const std::vector<EpochMetrics>& history, const EpochMetrics& best,
                        const std::string& network, const std::string& loss);

}  // namespace cosmo::train
