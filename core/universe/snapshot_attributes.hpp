#pragma once
// Attributes that a snapshot repeats in several groups, for the code that writes and checks them.

#include <array>

#include "core/universe/snapshot.hpp"

namespace cosmo::core {

/// An attribute of a group and its value.
struct NumberAttribute {
  const char* name;
  double value;
};

/// Attributes of /Header and of /Parameters.
inline std::array<NumberAttribute, 5> parameter_attributes(const OutputHeader& header) {
  return {{{"BoxSize", header.box_size},
           {"Omega0", header.universe.cosmology.omega_m},
           {"OmegaLambda", 1 - header.universe.cosmology.omega_m},
           {"OmegaBaryon", header.universe.cosmology.omega_b},
           {"HubbleParam", header.universe.cosmology.h}}};
}

/// Attributes of /Units and of /Parameters: Mpc/h, 1e10 Msun/h, km/s.
inline constexpr std::array<NumberAttribute, 3> kUnitAttributes = {
    {{"UnitLength_in_cm", 3.085678e24}, {"UnitMass_in_g", 1.98841e43}, {"UnitVelocity_in_cm_per_s", 1e5}}};

}  // namespace cosmo::core
