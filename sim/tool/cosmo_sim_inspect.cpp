#include "sim/tool/cosmo_sim_inspect.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "core/error.hpp"
#include "core/format/foreign_hdf5.hpp"
#include "core/fourier/power_spectrum.hpp"
#include "core/output/manifest.hpp"
#include "core/picture/png.hpp"
#include "core/universe/snapshot.hpp"
#include "histogram/count_file.hpp"
#include "sim/nbody/mass_assignment.hpp"
#include "sim/nbody/particle_order.hpp"
#include "sim/nbody/particle_set.hpp"

namespace cosmo::sim {

using core::ensure;
using core::Fault;
using core::Json;
using fourier::FourierMesh;

namespace {

/// Particles that a rank reads at once; about 60 bytes each, and the same again for those that change ranks.
constexpr std::uint64_t kRound = std::uint64_t{1} << 21;
/// Quanta of mass per particle: a cell has room for 65535 particles.
constexpr std::int32_t kQuanta = 1 << 16;
/// Minimum number of cells per side for a power spectrum.
constexpr int kFewestCells = 4;
constexpr double kLightSpeed = 299792.458;  ///< [km/s]

/// What is found in a file once all of it has been read.
struct Finding {
  core::GridSpec grid;                 ///< grid of the measured density
  std::uint64_t particles;             ///< in the whole box
  fourier::MassAssignment assignment;  ///< how they are assigned to the grid
  Json summary;
  std::string text;
};

Finding finding_of(const std::string& kind, const core::OutputHeader& header, int cells_per_side,
                   fourier::MassAssignment assignment) {
  Finding finding{{cells_per_side, header.box_size}, header.particles, assignment, {}, {}};
  finding.summary = {{"kind", kind},
                     {"particles", header.particles},
                     {"box_mpc_h", header.box_size},
                     {"cells_per_side", cells_per_side},
                     {"redshift", header.redshift},
                     {"seed", header.universe.seed},
                     {"code_version", header.code_version}};
  finding.text =
      fmt::format("box          {} Mpc/h\nredshift     {}\nseed         {}\nwritten by   version {}\n",
                  header.box_size, header.redshift, header.universe.seed, header.code_version);
  std::vector<std::string> parameters;
  for (const core::CosmologyParameter& row : core::kCosmologyParameters) {
    finding.summary["parameters"][std::string(row.name)] = header.universe.cosmology.*row.member;
    parameters.push_back(fmt::format("{} {}", row.name, header.universe.cosmology.*row.member));
  }
  finding.text += fmt::format("parameters   {}\n", fmt::join(parameters, ", "));
  return finding;
}

void add_checks(Finding& finding, std::vector<std::string> checks, bool recorded) {
  if (recorded) checks.push_back("bytes as the manifest's sha256");
  finding.summary["checks"] = checks;
  finding.text += fmt::format("checked      {}\n", fmt::join(checks, ", "));
}

/// Reads the counts into the first cells of the mesh, and checks them. They fill the mesh unless the grid has
/// fewer cells than a power spectrum needs. Collective.
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

/// Sums of velocities in fixed point, which do not depend on the order of additions.
struct Motion {
  static constexpr double kUnit = 1 << 10;  ///< units of the sums per km/s
  std::array<std::int64_t, 3> sum{};
  std::int64_t squares = 0;  ///< [(km/s)²]

  void add(std::size_t axis, double velocity) {
    sum[axis] += std::llround(velocity * kUnit);
    squares += std::llround(velocity * velocity);
  }
  /// Adds the mean and rms velocity to the finding. Collective.
  void describe(const core::Communicator& comm, std::uint64_t particles, Finding& finding) const {
    std::array<std::int64_t, 3> total = sum;
    comm.sum(std::span<std::int64_t>(total));
    const auto n = static_cast<double>(particles);
    const double rms = std::sqrt(static_cast<double>(comm.sum(squares)) / n);
    std::array<double, 3> mean{};
    for (std::size_t c = 0; c < 3; ++c) mean[c] = static_cast<double>(total[c]) / kUnit / n;
    finding.summary["mean_velocity_km_s"] = mean;
    finding.summary["rms_velocity_km_s"] = rms;
    finding.text += fmt::format(
        "velocities   mean ({:.3g}, {:.3g}, {:.3g}) km/s, which should be small beside {:.4g} km/s "
        "rms\n",
        mean[0], mean[1], mean[2], rms);
  }
};

/// A snapshot's rows from `first` on, checked one by one.
class Rows {
 public:
  Rows(const core::Snapshot& snapshot, std::string path) : snapshot_(snapshot), path_(std::move(path)) {}

  void read(std::uint64_t first, std::uint64_t size, Motion& motion) {
    positions_.resize(3 * size);
    velocities_.resize(3 * size);
    ids_.resize(size);
    snapshot_.read_positions(first, positions_);
    snapshot_.read_velocities(first, velocities_);
    snapshot_.read_ids(first, ids_);
    const double box = snapshot_.header().box_size;
    for (std::uint64_t i = 0; i < size; ++i) {
      ensure(ids_[i] == first + i + 1, Fault::format, "{} has ID {} in row {}, not {}: restore the file.",
             path_, ids_[i], first + i, first + i + 1);
      for (std::size_t c = 0; c < 3; ++c) {
        const double x = positions_[3 * i + c], v = velocities_[3 * i + c];
        ensure(x >= 0 && x < box, Fault::format,
               "{} has particle {} at {} Mpc/h, outside its box of {} Mpc/h: restore the file.", path_,
               ids_[i], x, box);
        ensure(std::abs(v) < kLightSpeed, Fault::format,
               "{} has particle {} move at {} km/s, which is not a velocity: restore the file.", path_,
               ids_[i], v);
        motion.add(c, v);
      }
    }
  }
  std::span<const float> positions() const { return positions_; }

 private:
  const core::Snapshot& snapshot_;
  std::string path_;
  std::vector<float> positions_, velocities_;
  std::vector<std::uint64_t> ids_;
};

/// Moves the particles back by half a cell, so that mesh nodes represent the centres of cells, where
/// particles on a lattice of that size begin, and the picture and P(k) are those of the simulation's own
/// mesh.
void centre_nodes(ParticleSet& particles, const core::GridSpec& grid) {
  const auto half = static_cast<float>(grid.cell_size() / 2), box = static_cast<float>(grid.box_size);
  for (float& x : particles.x()) {
    const float moved = x < half ? x + (box - half) : x - half;
    x = moved < box ? moved : 0;  // rounding may give the box size itself
  }
}

/// Assigns the particles to the cells of the mesh by cloud in cell, and checks them. Collective.
Finding read_snapshot(const core::Communicator& comm, const std::string& path, bool recorded,
                      std::optional<FourierMesh>& mesh) {
  std::optional<core::Snapshot> snapshot;
  comm.agree([&] { snapshot.emplace(path); });
  const core::OutputHeader& header = snapshot->header();
  const auto side = static_cast<int>(std::lround(std::cbrt(static_cast<double>(header.particles))));
  comm.agree([&] { mesh.emplace(comm, core::GridSpec{side, header.box_size}); });
  MassAssignment mass(*mesh);
  ParticleOrder order(mesh->grid(), mesh->slab());
  mass.deposit({}, order, kQuanta);

  const auto ranks = static_cast<std::uint64_t>(comm.size()), rank = static_cast<std::uint64_t>(comm.rank());
  const std::uint64_t first = header.particles * rank / ranks, last = header.particles * (rank + 1) / ranks;
  const std::uint64_t rounds = comm.max((last - first + kRound - 1) / kRound);
  Rows rows(*snapshot, path);
  Motion motion;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::uint64_t start = std::min(last, first + round * kRound);
    comm.agree([&] { rows.read(start, std::min(kRound, last - start), motion); });
    ParticleSet particles = ParticleSet::at(rows.positions());
    centre_nodes(particles, mesh->grid());
    particles.move_to_owners(comm, mesh->grid());
    order.sort(particles);
    mass.deposit_more(particles, order);
  }
#pragma omp parallel for schedule(static)
  for (int x = mesh->slab().first; x < mesh->slab().last; ++x) mass.to_particles(x);
  mass.check_mass();
  Finding finding = finding_of("snapshot", header, side, fourier::MassAssignment::cloud_in_cell);
  finding.summary["particle_mass_1e10_msun_h"] = header.particle_mass();
  finding.text = fmt::format("snapshot of {} particles of {:.6g}e10 Msun/h\n", header.particles,
                             header.particle_mass()) +
                 finding.text;
  motion.describe(comm, header.particles, finding);
  add_checks(finding, {"positions in [0, L)", "velocities finite", "IDs 1 to N, each once and in order"},
             recorded);
  return finding;
}

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

/// Throws Error{config} if `image` would replace the input file or a file that is not a PNG image.
void check_image(const std::filesystem::path& input, const std::filesystem::path& image) {
  for (const std::filesystem::path& written : {image, core::part_of(image)}) {
    std::error_code error;  // usually: the file does not exist yet
    ensure(!std::filesystem::equivalent(input, written, error), Fault::config,
           "--png {} would replace the file that is inspected: choose another name.", image.string());
  }
  core::check_replaceable(image);
}

/// Draws the slice 0 <= x < thickness [Mpc/h], y to the right and z upwards. Collective.
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
    core::publish_png(path, [&](const auto& part) {
      core::write_png(part, pixels, pixels, image, 0, static_cast<float>(std::log10(1 + highest)),
                      core::density_palette());
    });
  });
  finding.summary["png"] = {
      {"path", path.string()}, {"thickness_mpc_h", planes * cell}, {"max_particles", highest}};
  finding.text += fmt::format(
      "slice        {}: 0 <= x < {:.6g} Mpc/h, y to the right, z upwards; colour log10(1 + particles), up to "
      "{:.6g} in a column\n",
      path.string(), planes * cell, highest);
}

/// Measures the power spectrum of the particles in the cells of the mesh, which it overwrites; none if they
/// fill only part of the mesh. Collective.
void measure_power(FourierMesh& mesh, Finding& finding) {
  finding.summary["power_spectrum"] = nullptr;
  if (finding.grid.cells_per_side < mesh.side()) {
    finding.text += fmt::format("P(k)         none: {}³ cells are too coarse for it, it takes {}³ or more\n",
                                finding.grid.cells_per_side, kFewestCells);
    return;
  }
  const double mean = static_cast<double>(finding.particles) / static_cast<double>(finding.grid.cells());
  mesh.for_each_row([&](int, int, float* row) {
    for (int z = 0; z < mesh.side(); ++z) row[z] = static_cast<float>(row[z] / mean - 1);
  });
  mesh.forward();
  // Beyond half the Nyquist wavenumber, dividing by the window would amplify aliased power.
  const int bins = std::max(1, mesh.side() / 4);
  const fourier::PowerSpectrum spectrum =
      power_spectrum(mesh, {.bins = bins, .assignment = finding.assignment});
  const std::string assignment =
      finding.assignment == fourier::MassAssignment::cloud_in_cell ? "cloud-in-cell" : "nearest-grid-point";
  const double shot_noise = std::pow(finding.grid.box_size, 3) / static_cast<double>(finding.particles);
  finding.summary["power_spectrum"] = {{"assignment", assignment + ", its window divided out"},
                                       {"cells_per_side", mesh.side()},
                                       {"shot_noise", shot_noise},
                                       {"shot_noise_subtracted", false},
                                       {"k_h_mpc", spectrum.k},
                                       {"modes", spectrum.modes},
                                       {"p", spectrum.power}};
  finding.text += fmt::format(
      "\nP(k) of the particles, {} in {}³ cells, window divided out, up to half the Nyquist\n"
      "wavenumber; shot noise {:.6g} (Mpc/h)³ is not subtracted; some of {} bins\n{:>12} {:>10} {:>16}\n",
      assignment, mesh.side(), shot_noise, bins, "k [h/Mpc]", "modes", "P [(Mpc/h)³]");
  const auto all = static_cast<std::size_t>(bins);
  for (std::size_t bin = 0; bin < all; bin = std::max(bin + 1, (bin + 1) * 5 / 4)) {
    finding.text += fmt::format("{:>12.5f} {:>10} {:>16.6g}\n", spectrum.k[bin], spectrum.modes[bin],
                                spectrum.power[bin]);
  }
}

}  // namespace

void declare_inspect(core::Options& options) {
  options.add_positional("file", "snapshot_z0.hdf5 or counts_z0.h5 written by cosmo-sim generate");
  options.add("png", std::nullopt, "draw a slice of the density to this PNG file, on a logarithmic scale");
  options.add("thickness", std::nullopt, "thickness of the slice starting at x = 0, Mpc/h [= box / 16]");
}

std::vector<std::filesystem::path> inspected_files(const core::Options& options) {
  return core::hdf5_files_at(options.text("file"));
}

void run_inspect(const core::Invocation& run) {
  std::string path, schema;
  std::optional<double> thickness;
  bool recorded = false;
  run.comm.agree([&] {
    path = run.options.text("file");
    if (run.options.given("thickness")) thickness = run.options.number("thickness");
    ensure(thickness.value_or(1) > 0, Fault::config, "--thickness is {} Mpc/h: give more than 0.",
           thickness.value_or(1));
    ensure(std::filesystem::is_regular_file(path), Fault::io,
           "{} is not a file: give a snapshot or counts file.", path);
    if (run.options.given("png")) check_image(path, run.options.text("png"));
    if (run.comm.is_root()) recorded = core::check_in_suite(path);
  });
  run.comm.agree([&] {
    schema = core::hdf5::File::open(path).text_attribute("schema");
    ensure(schema == core::kSnapshotSchema || schema == histogram::kCountSchema, Fault::format,
           "{} has schema '{}': inspect reads {} and {}.", path, schema, core::kSnapshotSchema,
           histogram::kCountSchema);
  });
  std::optional<FourierMesh> mesh;
  Finding finding = schema == histogram::kCountSchema ? read_counts(run.comm, path, recorded, mesh)
                                                      : read_snapshot(run.comm, path, recorded, mesh);
  finding.summary["path"] = path;
  finding.summary["schema"] = schema;
  if (run.options.given("png")) {
    draw_slice(run.comm, run.options.text("png"), thickness.value_or(finding.grid.box_size / 16), *mesh,
               finding);
  }
  measure_power(*mesh, finding);
  run.report(finding.summary, fmt::format("{}: {}", path, finding.text));
}

}  // namespace cosmo::sim
