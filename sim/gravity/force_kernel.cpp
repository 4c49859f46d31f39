#include "sim/gravity/force_kernel.hpp"

#include "core/named.hpp"

namespace cosmo::sim {

const ForceKernel& find_force_kernel(std::string_view name) {
  return core::row_called(kForceKernels, name, "force kernel");
}

}  // namespace cosmo::sim
