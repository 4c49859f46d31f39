#include "sim/nbody/integrator.hpp"

#include "core/error.hpp"
#include "core/named.hpp"

namespace cosmo::sim {

const Integrator& find_integrator(std::string_view name) {
  const Integrator* integrator = core::find_row(kIntegrators, name);
  core::ensure(integrator != nullptr, core::Fault::config, "There is no integrator \"{}\": use {}.", name,
               core::alternatives(core::names_in(kIntegrators)));
  return *integrator;
}

}  // namespace cosmo::sim
