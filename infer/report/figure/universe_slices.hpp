#pragma once
// Pictures of a few of the universes that were predicted.

#include <cstdint>
#include <string>
#include <vector>

#include "dataset/load/split_reader.hpp"
#include "dataset/measure/prediction_table.hpp"

namespace cosmo::infer {

/// At most four universes, by their number in `universes`: those with the smallest and the largest of a
/// parameter and others evenly between them in rank. It is sigma8, which is the most visible one, or else the
/// first.
std::vector<std::size_t> choose_universes(const dataset::PredictionTable& universes, std::size_t& parameter);

/// PNG images of the universes, in the same colours, and what they have in common.
struct UniverseSlices {
  std::vector<std::string> images;
  double low, high;    ///< values of the first and the last colour; density / mean if voxels are counts
  bool logarithmic;    ///< spacing of the colours between them
  double side, depth;  ///< size of the slice, in the unit of the dataset's box
};

/// Slices 0 <= x < depth, averaged along x, y to the right, z up, of the first channel: of the whole box
/// where the sub-volumes are its cuts, else of the first sub-volume. `subvolumes` has a row for each sample
/// of `reader`, which is read. Throws as that does.
UniverseSlices draw_universes(dataset::SplitReader& reader, const dataset::PredictionTable& subvolumes,
                              const std::vector<std::uint32_t>& simulations, std::uint32_t cuts);

}  // namespace cosmo::infer
