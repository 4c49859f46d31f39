#include "sim/inspect/counts.hpp"

#include <algorithm>
#include <vector>

#include "core/error.hpp"
#include "core/parallel/rounds.hpp"
#include "histogram/count_pack.hpp"

namespace cosmo::sim {

using core::ensure;
using core::Fault;
using fourier::FourierMesh;

Finding read_counts(const core::Communicator& comm, const histogram::CountFile& file, bool recorded,
                    std::optional<FourierMesh>& mesh) {
  const histogram::CountFileHeader& header = file.header();
  const int side = header.cells_per_side;
  comm.agree([&] { mesh.emplace(comm, core::GridSpec{std::max(side, kFewestCells), header.box_size}); });
  const auto n = static_cast<std::size_t>(side);
  std::uint64_t sum = 0, empty = 0, highest = 0;
  comm.agree([&] {
    std::vector<std::uint16_t> plane(n * n);
    for (int x = mesh->slab().first; x < std::min(side, mesh->slab().last); ++x) {
      file.read_planes({x, x + 1}, plane);
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
           "{} holds {} particles and records {}: run the simulation again with --force.", file.name(), sum,
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

Finding read_pack(const core::Communicator& comm, const std::string& path, const ChosenCounts& chosen,
                  bool recorded, std::optional<FourierMesh>& mesh) {
  std::optional<histogram::CountPack> pack;
  std::optional<histogram::CountFile> file;
  comm.agree([&] {
    pack.emplace(path);
    const histogram::CountPackHeader& header = pack->header();
    ensure(!header.redshifts.empty(), Fault::config, "{} has no counts: there is nothing to inspect.", path);
    const std::uint64_t first = header.universes.front().simulation;
    const auto row = std::ranges::find(header.universes, chosen.universe.value_or(first),
                                       &histogram::PackedUniverse::simulation);
    ensure(row != header.universes.end(), Fault::config,
           "{} has universes {} to {} and no {}: give one of them as --universe.", path, first,
           header.universes.back().simulation, chosen.universe.value_or(first));
    file.emplace(*pack, static_cast<std::size_t>(row - header.universes.begin()),
                 chosen.redshift.value_or(header.redshifts.front()));
  });
  const histogram::CountPackHeader& header = pack->header();
  core::in_rounds(
      comm, header.universes.size(),
      [&](std::size_t row) {
        for (const double redshift : header.redshifts) histogram::CountFile(*pack, row, redshift).check_sum();
      },
      [](std::size_t) {});
  Finding finding = read_counts(comm, *file, recorded, mesh);
  const std::uint64_t first = header.universes.front().simulation, last = header.universes.back().simulation;
  finding.summary["pack"] = {{"simulations", {first, last}}, {"redshifts", header.redshifts}};
  finding.text = fmt::format(
      "pack of the universes {} to {} at z = {}; counts of each sum to its particles\n"
      "{}: {}",
      first, last, fmt::join(header.redshifts, ", "), file->name(), finding.text);
  return finding;
}

}  // namespace cosmo::sim
