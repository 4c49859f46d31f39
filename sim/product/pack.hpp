#pragma once
// The file of a pack of universes: histogram/count_pack.hpp, and with power spectra
//
//   /power_spectrum   float64 (U, bins, columns): a universe's power_spectrum.csv (sim/suite/power_table.hpp); bins that it lacks
//                     are NaN
//     columns         names of the columns, an attribute

#include <cstddef>
#include <filesystem>
#include <span>

#include "core/parallel/communicator.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "histogram/count_pack.hpp"
#include "sim/product/products.hpp"
#include "sim/simulation.hpp"
#include "sim/suite/power_table.hpp"

namespace cosmo::sim {

/// Writes the universes of a pack one by one. Its members are collective over the group, which must outlive it.
class Pack {
 public:
  /// `config` is any universe's; they differ in what does not matter here. Throws Error{io} naming the file.
  Pack(const core::Communicator& group, const std::filesystem::path& path, const SimulationConfig& config,
       const Products& products, std::span<const core::SimulationRecord> universes);

  void write_counts(std::size_t row, double redshift, const histogram::CountGrid& counts) {
    writer_.write(row, redshift, counts);
  }
  void write_power(std::size_t row, const PowerTable& table);
  void close() { writer_.close(); }

 private:
  const core::Communicator& group_;
  std::size_t bins_, columns_;  ///< in each power spectrum
  histogram::CountPackWriter writer_;
};

}  // namespace cosmo::sim
