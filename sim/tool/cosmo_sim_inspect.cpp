#include "sim/tool/cosmo_sim_inspect.hpp"

#include <optional>

#include "core/error.hpp"
#include "core/hdf5/foreign.hpp"
#include "core/output/manifest.hpp"
#include "core/universe/snapshot.hpp"
#include "histogram/count_file.hpp"
#include "histogram/count_pack.hpp"
#include "histogram/field_file.hpp"
#include "sim/inspect/counts.hpp"
#include "sim/inspect/field.hpp"
#include "sim/inspect/picture.hpp"
#include "sim/inspect/snapshot.hpp"
#include "sim/inspect/spectrum.hpp"
#include "sim/inspect/tables.hpp"

namespace cosmo::sim {

using core::ensure;
using core::Fault;
using fourier::FourierMesh;

void declare_inspect(core::Options& options) {
  options.add_positional("file",
                         "snapshot_z0.hdf5, counts_z0.h5, a field or a pack written by cosmo-sim generate");
  options.add("universe I", std::nullopt,
              "universe of a pack, by its number in the suite [the pack's first]");
  options.add("redshift Z", std::nullopt, "redshift of a pack's counts [its lowest]");
  options.add("png FILE", std::nullopt,
              "draw a slice of the density to this PNG file, on a logarithmic scale");
  options.add("thickness X", std::nullopt, "thickness of the slice starting at x = 0, Mpc/h [= box / 16]");
  options.add("correlation-function FILE", std::nullopt, "write ξ(r) of the particles to this CSV file");
  options.add("bispectrum FILE", std::nullopt,
              "write B of the particles, of equilateral and squeezed triangles, to this CSV file");
}

namespace {

Finding read(const core::Communicator& comm, const std::string& schema, const std::string& path,
             const ChosenCounts& chosen, bool recorded, std::optional<FourierMesh>& mesh) {
  if (schema == core::kSnapshotSchema) return read_snapshot(comm, path, recorded, mesh);
  if (schema == histogram::kPackSchema) return read_pack(comm, path, chosen, recorded, mesh);
  if (schema == histogram::kFieldSchema) {
    std::optional<histogram::FieldFile> field;
    comm.agree([&] { field.emplace(path); });
    return read_field(comm, *field, recorded, mesh);
  }
  std::optional<histogram::CountFile> file;
  comm.agree([&] { file.emplace(path); });
  return read_counts(comm, *file, recorded, mesh);
}

}  // namespace

std::vector<std::filesystem::path> inspected_files(const core::Options& options) {
  return core::hdf5_files_at(options.text("file"));
}

void run_inspect(const core::Invocation& run) {
  std::string path, schema;
  std::optional<double> thickness;
  bool recorded = false;
  ChosenCounts chosen;
  TableFiles tables;
  run.comm.agree([&] {
    path = run.options.text("file");
    if (run.options.given("universe"))
      chosen.universe = static_cast<std::uint64_t>(run.options.integer("universe", 0, 1'000'000'000));
    if (run.options.given("redshift")) chosen.redshift = run.options.number("redshift");
    if (run.options.given("thickness")) thickness = run.options.number("thickness");
    ensure(thickness.value_or(1) > 0, Fault::config, "--thickness is {} Mpc/h: give more than 0.",
           thickness.value_or(1));
    ensure(std::filesystem::is_regular_file(path), Fault::io,
           "{} is not a file: give a snapshot or counts file.", path);
    if (run.options.given("png")) check_image(path, run.options.text("png"));
    tables = read_table_files(run.options);
    if (run.comm.is_root()) recorded = core::check_in_suite(path);
  });
  run.comm.agree([&] {
    schema = core::hdf5::File::open(path).text_attribute("schema");
    ensure(schema == core::kSnapshotSchema || schema == histogram::kCountSchema ||
               schema == histogram::kPackSchema || schema == histogram::kFieldSchema,
           Fault::format, "{} has schema '{}': inspect reads {}, {}, {} and {}.", path, schema,
           core::kSnapshotSchema, histogram::kCountSchema, histogram::kPackSchema, histogram::kFieldSchema);
    ensure(schema != histogram::kFieldSchema || !run.options.given("png"), Fault::usage,
           "--png draws counts and snapshots, and {} is a field: leave it out.", path);
    ensure(schema == histogram::kPackSchema || (!chosen.universe && !chosen.redshift), Fault::usage,
           "--universe and --redshift choose in a pack, which {} is not: leave them out.", path);
  });
  std::optional<FourierMesh> mesh;
  Finding finding = read(run.comm, schema, path, chosen, recorded, mesh);
  finding.summary["path"] = path;
  finding.summary["schema"] = schema;
  if (run.options.given("png")) {
    draw_slice(run.comm, run.options.text("png"), thickness.value_or(finding.grid.box_size / 16), *mesh,
               finding);
  }
  measure_power(*mesh, finding);
  write_tables(tables, *mesh, finding);
  run.report(finding.summary, fmt::format("{}: {}", path, finding.text));
}

}  // namespace cosmo::sim
