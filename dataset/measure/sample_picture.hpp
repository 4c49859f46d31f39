#pragma once
// A picture of a few samples: projected density slices and the one-point distribution, both logarithmic.

#include <filesystem>
#include <string>
#include <vector>

#include "dataset/shard/dataset_manifest.hpp"
#include "dataset/shard/sample.hpp"

namespace cosmo::dataset {

/// A sample to be drawn.
struct ChosenSample {
  Split split;
  Sample record;
  std::vector<float> voxels;  ///< counts or field (C, n, n, n)
};

/// Up to `samples` (at least 1) samples, from the splits in turn, each split's first ones. Every shard that
/// is read is compared with the manifest. Throws as ShardReader does.
std::vector<ChosenSample> choose_samples(const std::filesystem::path& directory,
                                         const DatasetManifest& dataset, int samples);

/// An SVG image: the slices 0 <= x < depth, a column per sample and a row per channel, in units of the mean if
/// the voxels are counts; below them the distribution of voxel values (first channel).
std::string sample_picture(const DatasetManifest& dataset, const std::vector<ChosenSample>& chosen);

}  // namespace cosmo::dataset
