#include "train/plan/feature_measurement.hpp"

#include <algorithm>

#include "train/nn/tensor/moment_sums.hpp"

namespace cosmo::train {

void measure_features(const core::Communicator& comm, nn::Network& network, dataset::DataLoader& loader) {
  const nn::Normalisation at = network.normalisation();
  nn::MomentSums sums(at.mean.size());
  double samples = 0;
  loader.start_epoch(0);
  while (const auto batch = loader.next()) {
    network.set_input(batch->voxels);
    network.forward_trunk();
    sums.add(at.values, at.values, batch->valid);
    samples += batch->valid;
  }
  comm.sum(sums.values());
  set_statistics(at, sums, comm.sum(samples));
}

}  // namespace cosmo::train
