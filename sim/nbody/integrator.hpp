#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "sim/nbody/bullfrog_stepper.hpp"
#include "sim/nbody/cola_stepper.hpp"
#include "sim/nbody/fastpm_stepper.hpp"

namespace cosmo::sim {

template <class T>
std::unique_ptr<Stepper> make_stepper(const Background& background, ForceMesh& forces) {
  return std::make_unique<T>(background, forces);
}

struct Integrator {
  std::string_view name;
  bool keeps_displacements;  ///< whether psi1 and psi2 stay in memory after the start
  std::unique_ptr<Stepper> (*make)(const Background&, ForceMesh&);
  std::string_view meaning;
};

/// The first is the default.
inline constexpr std::array<Integrator, 3> kIntegrators = {{
    {"cola", true, &make_stepper<ColaStepper>, "steps equal in the scale factor"},
    {"bullfrog", false, &make_stepper<BullFrogStepper>,
     "steps equal in the growth factor; half the memory per particle"},
    {"fastpm", false, &make_stepper<FastPmStepper>,
     "FastPM's kicks, to compare with that code; steps equal in the scale factor, memory as bullfrog"},
}};

/// The integrator called `name`. Throws Error{config} listing the names.
const Integrator& find_integrator(std::string_view name);

}  // namespace cosmo::sim
