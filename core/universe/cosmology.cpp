#include "core/universe/cosmology.hpp"

#include "core/named.hpp"

namespace cosmo::core {

const CosmologyParameter* find_cosmology_parameter(std::string_view name) {
  return find_row(kCosmologyParameters, name);
}

void validate(const Cosmology& cosmology) {
  for (const CosmologyParameter& row : kCosmologyParameters) {
    const double value = cosmology.*row.member;
    ensure(value >= row.low && value <= row.high, Fault::config,
           "{} is {}: choose a value between {} and {}.", row.name, value, row.low, row.high);
  }
  ensure(cosmology.omega_b < cosmology.omega_m, Fault::config,
         "omega_b is {} and omega_m {}: baryons are part of matter, choose omega_b below omega_m.",
         cosmology.omega_b, cosmology.omega_m);
  ensure(cosmology.w0 + cosmology.wa < 0, Fault::config,
         "w0 is {} and wa {}: early dark energy is not simulated, choose w0 + wa below 0.", cosmology.w0,
         cosmology.wa);
}

}  // namespace cosmo::core
