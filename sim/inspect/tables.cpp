#include "sim/inspect/tables.hpp"

#include <vector>

#include "core/error.hpp"
#include "core/picture/image_file.hpp"
#include "sim/inspect/counts.hpp"
#include "sim/suite/measure_table.hpp"

namespace cosmo::sim {

using core::ensure;
using core::Fault;

namespace {

constexpr core::ImageFormat kCorrelationTable = {"a table of a correlation function", "r_mpc_h,"};
constexpr core::ImageFormat kBispectrumTable = {"a table of a bispectrum", "k_h_mpc,k_long_h_mpc,"};

std::optional<std::string> file_of(const core::Options& options, const std::string& option,
                                   const core::ImageFormat& kind) {
  if (!options.given(option)) return {};
  core::check_replaceable(options.text(option), kind, "--" + option);
  return options.text(option);
}

/// Publishes the measure's table. Collective.
template <class Measure>
void publish(const std::string& path, const Measure& measure, const fourier::FourierMesh& mesh,
             const Finding& finding) {
  const std::vector<Measured<Measure>> outputs = {{finding.summary.at("redshift").get<double>(), measure}};
  mesh.communicator().agree([&] {
    if (mesh.communicator().is_root()) core::publish_image(path, to_csv(table_of(outputs)));
  });
}

}  // namespace

TableFiles read_table_files(const core::Options& options) {
  TableFiles files{file_of(options, "correlation-function", kCorrelationTable),
                   file_of(options, "bispectrum", kBispectrumTable)};
  ensure(!files.bispectrum || files.bispectrum != files.correlation_function, Fault::config,
         "--correlation-function and --bispectrum are both {}: choose two names.",
         files.bispectrum.value_or(""));
  return files;
}

void write_tables(const TableFiles& files, fourier::FourierMesh& mesh, Finding& finding) {
  if (!files.correlation_function && !files.bispectrum) return;
  ensure(finding.grid.cells_per_side == mesh.side(), Fault::config,
         "{}³ cells are too coarse for --{}: it takes {}³ or more.", finding.grid.cells_per_side,
         files.bispectrum ? "bispectrum" : "correlation-function", kFewestCells);
  if (files.bispectrum) {
    // Beyond half the Nyquist wavenumber, dividing by the window would amplify aliased power.
    const fourier::Bispectrum found = bispectrum(mesh, mesh.side() / 4, finding.assignment);
    publish(*files.bispectrum, found, mesh, finding);
    finding.summary["bispectrum"] = {{"path", *files.bispectrum}, {"shells", found.k.size()}};
    finding.text += fmt::format("bispectrum   {}: {} shells of equilateral and squeezed triangles\n",
                                *files.bispectrum, found.k.size());
  }
  if (files.correlation_function) {
    const fourier::CorrelationFunction found = correlation_function(mesh, finding.assignment);
    publish(*files.correlation_function, found, mesh, finding);
    finding.summary["correlation_function"] = {{"path", *files.correlation_function},
                                               {"bins", found.r.size()}};
    finding.text +=
        fmt::format("xi(r)        {}: {} bins of one cell\n", *files.correlation_function, found.r.size());
  }
}

}  // namespace cosmo::sim
