#include "sim/nbody/force_kernel.hpp"

#include "core/error.hpp"

namespace cosmo::sim {

const ForceKernel& find_force_kernel(std::string_view name) {
  for (const ForceKernel& kernel : kForceKernels) {
    if (kernel.name == name) return kernel;
  }
  core::fail(core::Fault::config, "There is no force kernel \"{}\": use {}, {} or {}.", name,
             kForceKernels[0].name, kForceKernels[1].name, kForceKernels[2].name);
}

}  // namespace cosmo::sim
