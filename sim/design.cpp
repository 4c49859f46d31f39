#include "sim/design.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/random.hpp"

namespace cosmo::sim {

namespace {

using core::ensure, core::Fault;

void validate(std::span<const VaryingParameter> varying) {
  for (const VaryingParameter& parameter : varying) {
    const auto* row = core::find_cosmology_parameter(parameter.name);
    ensure(row != nullptr, Fault::config, "There is no cosmological parameter \"{}\" to vary.",
           parameter.name);
    ensure(parameter.low < parameter.high && parameter.low >= row->low && parameter.high <= row->high,
           Fault::config,
           "{} is to vary from {} to {}: choose a range within {} to {}, the smaller value first.",
           parameter.name, parameter.low, parameter.high, row->low, row->high);
    ensure(std::ranges::count(varying, parameter.name, &VaryingParameter::name) == 1, Fault::config,
           "{} is to vary twice: name it once.", parameter.name);
  }
}

/// The parameter's row in the table, which numbers its stream. The table only grows at its end.
std::uint32_t row_of(const std::string& name) {
  const auto* row = core::find_cosmology_parameter(name);
  return static_cast<std::uint32_t>(row - core::kCosmologyParameters.data());
}

}  // namespace

std::vector<DesignPoint> uniform_design(const core::Cosmology& base,
                                        std::span<const VaryingParameter> varying, int simulations,
                                        std::uint64_t seed) {
  ensure(simulations >= 1, Fault::config, "A suite of {} simulations is empty: ask for 1 or more.",
         simulations);
  validate(varying);
  const core::RandomStream values(seed, core::Purpose::design), seeds(seed, core::Purpose::simulation_seed);
  std::vector<DesignPoint> points;
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(simulations); ++i) {
    DesignPoint point{base, static_cast<std::uint64_t>(seeds.uniform({i, 0, 0}) * 0x1.0p53)};
    for (const VaryingParameter& parameter : varying) {
      const double unit = values.uniform({i, row_of(parameter.name), 0});
      point.cosmology.*core::find_cosmology_parameter(parameter.name)->member =
          parameter.low + (parameter.high - parameter.low) * unit;
    }
    core::validate(point.cosmology);
    points.push_back(point);
  }
  return points;
}

}  // namespace cosmo::sim
