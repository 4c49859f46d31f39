#pragma once
// What cosmo-sim inspect reports of a file.

#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "core/fourier/power_spectrum.hpp"
#include "core/universe/universe.hpp"

namespace cosmo::sim {

/// What is found in a file once all of it has been read.
struct Finding {
  core::GridSpec grid;                 ///< grid of the measured density
  std::uint64_t particles;             ///< in the whole box
  fourier::MassAssignment assignment;  ///< how they are assigned to the grid
  core::Json summary;
  std::string text;
  std::string field = {};  ///< what the mesh holds if it is a field, and not particles: a name and its unit
};

/// A finding with what every file states of itself: its universe, box and redshift.
Finding finding_of(const std::string& kind, const core::OutputHeader& header, int cells_per_side,
                   fourier::MassAssignment assignment);

/// Adds the `checks` that have passed, and whether the file's bytes are those `recorded` in a manifest.
void add_checks(Finding& finding, std::vector<std::string> checks, bool recorded);

}  // namespace cosmo::sim
