#pragma once
// Products that are one table per universe, with columns for each redshift. Outputs come from the earliest on
// and are listed from the latest on.

#include <cstdint>
#include <string>
#include <vector>

#include "core/fourier/bispectrum.hpp"
#include "core/fourier/correlation_function.hpp"
#include "core/fourier/power_spectrum.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "sim/linear/linear_power.hpp"
#include "sim/product/product.hpp"
#include "sim/suite/measure_table.hpp"
#include "sim/suite/power_table.hpp"
#include "sim/suite/table.hpp"

namespace cosmo::sim {

/// Power spectra of the initial field and the outputs (sim/suite/power_table.hpp). Bins that one of them lacks are left out.
class PowerSpectrumMaker : public Maker {
 public:
  using Maker::Maker;
  void see_initial(const fourier::PowerSpectrum& initial, const LinearPower& linear) override;
  void see(const Output& output) override;
  void finish() override;

  static void name_files(core::SimulationRecord& record, const std::string& folder);
  static std::uint64_t disk_bytes(const Extent& extent);

 private:
  PowerTable table_;
};

/// The table of correlation functions: what is measured, where it is written, and its size [bytes].
struct CorrelationFunctionTable {
  using Measure = fourier::CorrelationFunction;
  static constexpr auto kMeasure = &Output::correlation;
  static constexpr auto kPath = &core::SimulationRecord::correlation_function;
  static constexpr auto kName = core::kCorrelationFunctionName;
  static std::uint64_t bytes(const Extent& extent);
};

/// The same of bispectra.
struct BispectrumTable {
  using Measure = fourier::Bispectrum;
  static constexpr auto kMeasure = &Output::bispectrum;
  static constexpr auto kPath = &core::SimulationRecord::bispectrum;
  static constexpr auto kName = core::kBispectrumName;
  static std::uint64_t bytes(const Extent& extent);
};

/// A table of what is measured of the outputs (sim/suite/measure_table.hpp).
template <class Table>
class MeasureMaker : public Maker {
 public:
  using Maker::Maker;
  void see(const Output& output) override {
    outputs_.insert(outputs_.begin(), {output.redshift, output.*Table::kMeasure});
  }
  void finish() override { files().add_text(files().record().*Table::kPath, to_csv(table_of(outputs_))); }

  static void name_files(core::SimulationRecord& record, const std::string& folder) {
    record.*Table::kPath = folder + Table::kName;
  }
  static std::uint64_t disk_bytes(const Extent& extent) { return Table::bytes(extent); }

 private:
  std::vector<Measured<typename Table::Measure>> outputs_;
};

}  // namespace cosmo::sim
