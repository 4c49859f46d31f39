#include "sim/inspect/field.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/error.hpp"

namespace cosmo::sim {

namespace {

/// Sums over all values of a component.
struct FieldMoments {
  double sum = 0, squares = 0, least = HUGE_VAL, most = -HUGE_VAL;

  void add(double value) {
    sum += value;
    squares += value * value;
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

/// read_field() of classes: the mesh gets their numbers.
Finding read_web(const core::Communicator& comm, const histogram::FieldFile& file, bool recorded,
                 fourier::FourierMesh& mesh) {
  const histogram::FieldFileHeader& header = file.header();
  const auto n = static_cast<std::size_t>(header.cells_per_side);
  core::WebVolumes own, all;
  comm.agree([&] {
    std::vector<std::uint8_t> plane(n * n);
    for (int x = mesh.slab().first; x < mesh.slab().last; ++x) {
      file.read_classes({x, x + 1}, plane);
      for (std::size_t i = 0; i < plane.size(); ++i) {
        mesh.row(x, static_cast<int>(i / n))[i % n] = plane[i];
        ++own.voxels[plane[i]];
      }
    }
  });
  Finding finding =
      finding_of(header.quantity, header, header.cells_per_side, fourier::MassAssignment::exact);
  finding.field = "the class's number";
  core::write_web(finding.summary, header.web);
  for (std::size_t c = 0; c < own.voxels.size(); ++c) all.voxels[c] = comm.sum(own.voxels[c]);
  for (std::size_t c = 0; c < own.voxels.size(); ++c)
    finding.summary["volume_shares"][std::string(core::kWebClasses[c])] = all.share(c);
  finding.text = fmt::format("classes of {}³ voxels, of the density smoothed by {} Mpc/h, threshold {}\n", n,
                             header.web->radius, header.web->threshold) +
                 finding.text + fmt::format("volume       {}\n", all.text());
  add_checks(finding, {"classes are 0 to 3"}, recorded);
  return finding;
}

}  // namespace

Finding read_field(const core::Communicator& comm, const histogram::FieldFile& file, bool recorded,
                   std::optional<fourier::FourierMesh>& mesh) {
  const histogram::FieldFileHeader& header = file.header();
  comm.agree([&] { mesh.emplace(comm, header.grid()); });
  if (header.web) return read_web(comm, file, recorded, *mesh);
  const auto n = static_cast<std::size_t>(header.cells_per_side);
  const bool vector = header.components > 1;
  const char* unit = header.quantity == "velocity" ? " km/s" : "";
  Finding finding =
      finding_of(header.quantity, header, header.cells_per_side, fourier::MassAssignment::exact);
  finding.field = vector ? "the component along x" : "the field";
  finding.text = fmt::format("{} on {}³ voxels\n", header.quantity, n) + finding.text;
  std::vector<float> plane(n * n);
  for (int component = 0; component < header.components; ++component) {
    FieldMoments moments;
    comm.agree([&] {
      for (int x = mesh->slab().first; x < mesh->slab().last; ++x) {
        file.read_planes(component, {x, x + 1}, plane);
        for (std::size_t i = 0; i < plane.size(); ++i) {
          if (component == 0) mesh->row(x, static_cast<int>(i / n))[i % n] = plane[i];
          moments.add(plane[i]);
        }
      }
    });
    const double cells = static_cast<double>(header.grid().cells()), mean = comm.sum(moments.sum) / cells;
    const double rms = std::sqrt(comm.sum(moments.squares) / cells);
    const double least = comm.min(moments.least), most = comm.max(moments.most);
    const std::string name = vector ? fmt::format("along {}", "xyz"[component]) : "values";
    finding.summary["field"].push_back({{"mean", mean}, {"rms", rms}, {"min", least}, {"max", most}});
    finding.text += fmt::format("{:<12} mean {:.6g}, rms {:.6g}, from {:.6g} to {:.6g}{}\n", name, mean, rms,
                                least, most, unit);
  }
  add_checks(finding, {"values are finite"}, recorded);
  return finding;
}

}  // namespace cosmo::sim
