#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "sim/suite/design.hpp"

namespace cosmo::sim {

/// The universes of a suite, read from a file of comma-separated values.
struct DesignTable {
  std::vector<std::string> names;           ///< names of the parameters in the table
  std::vector<std::vector<double>> values;  ///< (universes, names)
  std::vector<std::uint64_t> seeds;         ///< (universes); if empty, they follow from the suite's seed

  /// Keeps only the first `size` universes.
  void keep(std::size_t size);
  /// SHA-256 of names, values and seeds, independent of the file's layout.
  std::string sha256() const;
};

/// Reads a header that names parameters of core::kCosmologyParameters and optionally "seed", then a row for
/// each universe; lines that begin with # are comments. Throws Error{io} if the file cannot be read;
/// Error{format} naming file and line if a name is unknown or repeated, if a cell is missing or not a number,
/// or if a seed is not below 2^53 or, unless `share_seeds`, repeated; and Error{config} if `base` with a
/// row's values is not a possible universe.
DesignTable read_design_table(const std::filesystem::path& path, const core::Cosmology& base,
                              bool share_seeds = false);

/// The universes of the table; parameters that it does not contain are as in `base`.
std::vector<core::Universe> table_design(const core::Cosmology& base, const DesignTable& table,
                                         std::uint64_t seed);

}  // namespace cosmo::sim
