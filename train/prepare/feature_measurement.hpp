#pragma once

#include "core/parallel/communicator.hpp"
#include "dataset/load/data_loader.hpp"
#include "nn/network.hpp"

namespace cosmo::train {

/// Number of training samples on which the normalisation's final statistics are measured: the first ones in
/// the shuffled order of cosmo-prep. With 2048 samples the mean is accurate to 2 % of the deviation.
constexpr std::uint32_t kMeasuredSamples = 2048;

/// Sets the mean and deviation of the network's normalisation to those of all samples that the loader
/// delivers in an epoch, for the current weights: a pure function of both. Collective over comm.
void measure_features(const core::Communicator& comm, nn::Network& network, dataset::DataLoader& loader);

}  // namespace cosmo::train
