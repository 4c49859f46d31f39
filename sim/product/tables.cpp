#include "sim/product/tables.hpp"

#include <algorithm>
#include <cstddef>

#include "sim/product/pack.hpp"

namespace cosmo::sim {

namespace {

/// The size of a table with these many rows, and columns of which `each` are for one redshift.
std::uint64_t table_bytes(const Extent& extent, int rows, std::uint64_t columns, std::uint64_t each) {
  constexpr std::uint64_t kNumber = 19;  // characters
  return static_cast<std::uint64_t>(rows) * kNumber * (columns + each * extent.redshifts());
}

}  // namespace

void PowerSpectrumMaker::see_initial(const fourier::PowerSpectrum& initial, const LinearPower& linear) {
  table_.k = initial.k;
  table_.modes = initial.modes;
  table_.initial = initial.power;
  for (const double k : initial.k) table_.input.push_back(linear(k));
}

void PowerSpectrumMaker::see(const Output& output) {
  table_.outputs.insert(table_.outputs.begin(), {output.redshift, output.power.power});
}

void PowerSpectrumMaker::finish() {
  std::size_t bins = table_.k.size();
  for (const PowerTable::Output& output : table_.outputs) bins = std::min(bins, output.power.size());
  table_.k.resize(bins);
  table_.modes.resize(bins);
  table_.input.resize(bins);
  table_.initial.resize(bins);
  for (PowerTable::Output& output : table_.outputs) output.power.resize(bins);
  if (files().pack() != nullptr) return files().pack()->write_power(*files().record().row, table_);
  files().add_text(files().record().power_spectrum, to_csv(table_));
}

void PowerSpectrumMaker::name_files(core::SimulationRecord& record, const std::string& folder) {
  record.power_spectrum = folder + core::kPowerSpectrumName;
}

std::uint64_t PowerSpectrumMaker::disk_bytes(const Extent& extent) {
  return table_bytes(extent, extent.config.box.particles_per_side / 2, 4, 1);
}

std::uint64_t CorrelationFunctionTable::bytes(const Extent& extent) {
  return table_bytes(extent, extent.config.gravity.mesh_per_side / 2, 2, 1);
}

std::uint64_t BispectrumTable::bytes(const Extent& extent) {
  constexpr int kMostShells = 32;
  return table_bytes(extent, std::min(extent.config.bispectrum_limit(), kMostShells), 4, 5);
}

}  // namespace cosmo::sim
