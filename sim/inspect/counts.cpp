#include "sim/inspect/counts.hpp"

#include <algorithm>
#include <vector>

#include "core/error.hpp"
#include "histogram/count_file.hpp"

namespace cosmo::sim {

using core::ensure;
using core::Fault;
using fourier::FourierMesh;

Finding read_counts(const core::Communicator& comm, const std::string& path, bool recorded,
                    std::optional<FourierMesh>& mesh) {
  std::optional<histogram::CountFile> file;
  comm.agree([&] { file.emplace(path); });
  const histogram::CountFileHeader& header = file->header();
  const int side = header.cells_per_side;
  comm.agree([&] { mesh.emplace(comm, core::GridSpec{std::max(side, kFewestCells), header.box_size}); });
  const auto n = static_cast<std::size_t>(side);
  std::uint64_t sum = 0, empty = 0, highest = 0;
  comm.agree([&] {
    std::vector<std::uint16_t> plane(n * n);
    for (int x = mesh->slab().first; x < std::min(side, mesh->slab().last); ++x) {
      file->read_planes({x, x + 1}, plane);
      for (std::size_t i = 0; i < plane.size(); ++i) {
        mesh->row(x, static_cast<int>(i / n))[i % n] = plane[i];
        sum += plane[i];
        empty += plane[i] == 0;
        highest = std::max<std::uint64_t>(highest, plane[i]);
      }
    }
  });
  sum = comm.sum(sum);
  empty = comm.sum(empty);
  highest = comm.max(highest);
  comm.agree([&] {
    ensure(sum == header.particles && sum > 0, Fault::format,
           "{} holds {} particles and records {}: run the simulation again with --force.", path, sum,
           header.particles);
  });
  Finding finding = finding_of("counts", header, side, fourier::MassAssignment::nearest_grid_point);
  const auto cells = static_cast<double>(header.grid().cells());
  finding.summary["counts"] = {{"mean", static_cast<double>(sum) / cells},
                               {"max", highest},
                               {"empty_fraction", static_cast<double>(empty) / cells}};
  finding.text =
      fmt::format("counts of {} particles in {}³ voxels\n", sum, n) + finding.text +
      fmt::format("counts       mean {:.6g}, largest {}, {:.2f} % empty\n", static_cast<double>(sum) / cells,
                  highest, 100 * static_cast<double>(empty) / cells);
  add_checks(finding, {"counts sum to the particles"}, recorded);
  return finding;
}

}  // namespace cosmo::sim
