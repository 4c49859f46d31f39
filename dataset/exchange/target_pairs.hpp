#pragma once
// Whether the targets of a table are those of their samples, by content: a field that belongs to a universe has its matter in
// the same places.

#include <cstddef>
#include <span>

#include "core/log.hpp"
#include "dataset/exchange/foreign_scan.hpp"
#include "dataset/exchange/sample_table.hpp"

namespace cosmo::dataset {

/// Cells per side in which they are compared: of 16 in the unit of the box or a little more, but at least 4 a side.
int cells_of_pairs(double box_size, int side);

/// The correlation of a sample's voxels (side, side, side) with its target's, in coarse cells; 0 if one of them does not vary.
/// T is std::uint16_t or float.
template <class T>
float correlation_with_target(std::span<const T> voxels, std::span<const float> target, int side, int cells);

/// Throws Error{format} naming the first sample whose target does not correlate with it, r less than half of the median of
/// all, where that is 0.5 at least. Warns if initial densities do not correlate with their samples, in cells of 10 and more, and of
/// the first whose mean is not about 0 or whose deviation is not like the others'.
void ensure_pairs(const core::Log& log, const ForeignSettings& settings, const SampleTable& table,
                  const Scans& found);

}  // namespace cosmo::dataset
