#pragma once
// A slice of the density as a picture.

#include <filesystem>

#include "core/fourier/fourier_mesh.hpp"
#include "sim/inspect/finding.hpp"

namespace cosmo::sim {

/// Throws Error{config} if `image` would replace the input file or a file that is not a PNG image.
void check_image(const std::filesystem::path& input, const std::filesystem::path& image);

/// Draws the slice 0 <= x < thickness [Mpc/h], y to the right and z upwards. Collective.
void draw_slice(const core::Communicator& comm, const std::filesystem::path& path, double thickness,
                const fourier::FourierMesh& mesh, Finding& finding);

}  // namespace cosmo::sim
