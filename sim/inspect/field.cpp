#include "sim/inspect/field.hpp"

#include <algorithm>
#include <cmath>
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

}  // namespace

Finding read_field(const core::Communicator& comm, const histogram::FieldFile& file, bool recorded,
                   std::optional<fourier::FourierMesh>& mesh) {
  const histogram::FieldFileHeader& header = file.header();
  comm.agree([&] { mesh.emplace(comm, header.grid()); });
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
