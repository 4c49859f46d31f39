#pragma once
// Products that are one table per universe, with columns for each redshift.

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

/// Correlation functions of the outputs (sim/suite/measure_table.hpp).
class CorrelationFunctionMaker : public Maker {
 public:
  using Maker::Maker;
  void see(const Output& output) override;
  void finish() override;

  static void name_files(core::SimulationRecord& record, const std::string& folder);
  static std::uint64_t disk_bytes(const Extent& extent);

 private:
  std::vector<Measured<fourier::CorrelationFunction>> outputs_;
};

/// Bispectra of the outputs (sim/suite/measure_table.hpp).
class BispectrumMaker : public Maker {
 public:
  using Maker::Maker;
  void see(const Output& output) override;
  void finish() override;

  static void name_files(core::SimulationRecord& record, const std::string& folder);
  static std::uint64_t disk_bytes(const Extent& extent);

 private:
  std::vector<Measured<fourier::Bispectrum>> outputs_;
};

}  // namespace cosmo::sim
