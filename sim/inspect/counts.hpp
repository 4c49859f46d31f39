#pragma once
// Counts of a universe, read whole.

#include <cstdint>
#include <optional>
#include <string>

#include "core/fourier/fourier_mesh.hpp"
#include "histogram/count_file.hpp"
#include "sim/inspect/finding.hpp"

namespace cosmo::sim {

/// Minimum number of cells per side for a power spectrum.
constexpr int kFewestCells = 4;

/// Reads the counts into the first cells of the mesh, and checks them. They fill the mesh unless the grid has
/// fewer cells than kFewestCells. Collective. Throws Error{format} that names the file.
Finding read_counts(const core::Communicator& comm, const histogram::CountFile& file, bool recorded,
                    std::optional<fourier::FourierMesh>& mesh);

/// The counts of a pack to look at.
struct ChosenCounts {
  std::optional<std::uint64_t> universe = {};  ///< its number in the suite, or the pack's first
  std::optional<double> redshift = {};         ///< or the lowest
};

/// Checks the counts of all universes of a pack, and reads those that are chosen as read_counts() does. Collective. Throws
/// Error{config} if there is no such universe or redshift.
Finding read_pack(const core::Communicator& comm, const std::string& path, const ChosenCounts& chosen,
                  bool recorded, std::optional<fourier::FourierMesh>& mesh);

}  // namespace cosmo::sim
