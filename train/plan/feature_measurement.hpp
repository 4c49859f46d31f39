#pragma once

#include "core/parallel/communicator.hpp"
#include "dataset/load/data_loader.hpp"
#include "train/nn/network.hpp"

namespace cosmo::train {

/// Training samples on which the normalisation's statistics are measured for use: the first of them, which
/// cosmo-prep has shuffled. Of 2048 the mean is known to 2 % of the deviation.
constexpr std::uint32_t kMeasuredSamples = 2048;

/// Sets the mean and deviation of the network's normalisation to those of all samples that the loader
/// delivers in an epoch, of the weights as they are: a pure function of both. Collective over comm.
void measure_features(const core::Communicator& comm, nn::Network& network, dataset::DataLoader& loader);

}  // namespace cosmo::train
