#pragma once
// Tables of the correlation function and of the bispectrum of the particles in the cells of a mesh.

#include <optional>
#include <string>

#include "core/fourier/fourier_mesh.hpp"
#include "core/run/options.hpp"
#include "sim/inspect/finding.hpp"

namespace cosmo::sim {

/// The files that are to be written, none of them if it has no name.
struct TableFiles {
  std::optional<std::string> correlation_function;
  std::optional<std::string> bispectrum;
};

/// Throws Error{config} if a file would replace another one than a table of its kind, or the other table.
TableFiles read_table_files(const core::Options& options);

/// Measures and writes the tables from the modes that measure_power() leaves in the mesh, which it overwrites.
/// Collective. Throws Error{config} if the particles fill only part of the mesh.
void write_tables(const TableFiles& files, fourier::FourierMesh& mesh, Finding& finding);

}  // namespace cosmo::sim
