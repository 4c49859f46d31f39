#include "sim/nbody/force_kernel.hpp"

#include "core/error.hpp"
#include "core/named.hpp"

namespace cosmo::sim {

const ForceKernel& find_force_kernel(std::string_view name) {
  const ForceKernel* kernel = core::find_row(kForceKernels, name);
  core::ensure(kernel != nullptr, core::Fault::config, "There is no force kernel \"{}\": use {}.", name,
               core::alternatives(core::names_in(kForceKernels)));
  return *kernel;
}

}  // namespace cosmo::sim
