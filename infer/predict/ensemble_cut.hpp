#pragma once

#include <optional>
#include <span>
#include <vector>

#include "dataset/load/sample_groups.hpp"
#include "dataset/load/slab.hpp"
#include "infer/predict/model.hpp"
#include "nn/cut/cut_plan.hpp"

namespace cosmo::infer {

/// How the networks of an ensemble cut the samples that ranks share.
class EnsembleCut {
 public:
  /// Samples are not cut.
  EnsembleCut() = default;
  /// They are not cut if each has one rank. Throws Error{config} if a network cannot be cut so, or if they need
  /// different planes of the samples.
  EnsembleCut(Models models, int ranks_per_sample);

  /// A rank's share in each network, or none if the samples are not cut. The groups and this must outlive them.
  std::vector<nn::Share> shares(const dataset::SampleGroups& groups) const;
  /// What a rank reads of each sample.
  std::optional<dataset::SlabShare> slab(const dataset::SampleGroups& groups,
                                         const dataset::DatasetManifest& data,
                                         const dataset::VoxelTransform& transform) const;

 private:
  std::vector<nn::CutPlan> plans_;  ///< (models)
};

}  // namespace cosmo::infer
