#include "train/prepare/feature_measurement.hpp"

#include <span>
#include <vector>

#include "nn/moment_sums.hpp"

namespace cosmo::train {

void measure_features(const core::Communicator& comm, nn::Network& network, dataset::DataLoader& loader) {
  const nn::Normalisation at = network.normalisation();
  nn::MomentSums sums(at.mean.size());
  double samples = 0;
  std::vector<float> values(at.values.size() *
                            static_cast<std::size_t>(comm.size()));  // of all ranks, in order
  loader.start_epoch(0);
  while (const auto batch = loader.next()) {
    network.set_input(batch->voxels);
    network.forward_trunk();
    comm.all_gather(std::span<const float>(at.values), std::span(values));
    sums.add(values, values, batch->samples_in_step);
    samples += batch->samples_in_step;
  }
  set_statistics(at, sums, samples);
}

}  // namespace cosmo::train
