#include "sim/nbody/integrator.hpp"

#include "core/named.hpp"

namespace cosmo::sim {

const Integrator& find_integrator(std::string_view name) {
  return core::row_called(kIntegrators, name, "integrator");
}

}  // namespace cosmo::sim
