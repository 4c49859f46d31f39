#include "sim/inspect/picture.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "core/error.hpp"
#include "core/picture/image_file.hpp"
#include "core/picture/png.hpp"

namespace cosmo::sim {

using core::ensure;
using core::Fault;
using fourier::FourierMesh;

namespace {

/// Number of particles in the columns (y, z), `side` cells per side, of the first `planes` planes of x, on
/// every rank: exact, because cells hold whole quanta. Collective.
std::vector<double> projection(const FourierMesh& mesh, int side, int planes) {
  const auto n = static_cast<std::size_t>(side);
  std::vector<double> columns(n * n, 0.0);
  for (int x = mesh.slab().first; x < std::min(planes, mesh.slab().last); ++x) {
    for (std::size_t i = 0; i < columns.size(); ++i)
      columns[i] += mesh.row(x, static_cast<int>(i / n))[i % n];
  }
  mesh.communicator().sum(std::span(columns));
  return columns;
}

}  // namespace

void check_image(const std::filesystem::path& input, const std::filesystem::path& image) {
  for (const std::filesystem::path& written : {image, core::part_of(image)}) {
    std::error_code error;  // usually: the file does not exist yet
    ensure(!std::filesystem::equivalent(input, written, error), Fault::config,
           "--png {} would replace the file that is inspected: choose another name.", image.string());
  }
  core::check_replaceable(image, core::kPng, "--png");
}

void draw_slice(const core::Communicator& comm, const std::filesystem::path& path, double thickness,
                const FourierMesh& mesh, Finding& finding) {
  const int n = finding.grid.cells_per_side;
  const double cell = finding.grid.cell_size();
  const auto planes =
      static_cast<int>(std::lround(std::clamp(thickness / cell, 1.0, static_cast<double>(n))));
  const std::vector<double> columns = projection(mesh, n, planes);
  const double highest = *std::max_element(columns.begin(), columns.end());
  comm.agree([&] {
    if (!comm.is_root()) return;
    const int zoom = std::max(1, 512 / n);  // a small grid in large pixels
    const auto pixels = static_cast<std::size_t>(n * zoom);
    std::vector<float> image(pixels * pixels);
    for (std::size_t i = 0; i < image.size(); ++i) {
      const std::size_t y = i % pixels / static_cast<std::size_t>(zoom);
      const std::size_t z = (pixels - 1 - i / pixels) / static_cast<std::size_t>(zoom);
      image[i] = static_cast<float>(std::log10(1 + columns[y * static_cast<std::size_t>(n) + z]));
    }
    core::publish_image(
        path, core::encode_png(pixels, pixels, image, 0, static_cast<float>(std::log10(1 + highest)),
                               core::density_palette()));
  });
  finding.summary["png"] = {
      {"path", path.string()}, {"thickness_mpc_h", planes * cell}, {"max_particles", highest}};
  finding.text += fmt::format(
      "slice        {}: 0 <= x < {:.6g} Mpc/h, y to the right, z upwards; colour log10(1 + particles), up to "
      "{:.6g} in a column\n",
      path.string(), planes * cell, highest);
}

}  // namespace cosmo::sim
