#pragma once

#include <string>
#include <vector>

#include "train/state/checkpoint.hpp"

namespace cosmo::train {

/// An SVG image of training and validation loss against the epoch, like Fig. 5 of Mathuriya et al. 2018; the
/// same text for the same history, which must not be empty. `best` is the epoch to mark. `title` and `loss`
/// (its name) are plain text.
std::string loss_figure(const std::vector<EpochMetrics>& history, const EpochMetrics& best,
                        const std::string& title, const std::string& loss);

}  // namespace cosmo::train
