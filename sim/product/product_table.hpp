#pragma once

#include <array>

#include "sim/product/counts.hpp"
#include "sim/product/particles.hpp"
#include "sim/product/product.hpp"
#include "sim/product/tables.hpp"

namespace cosmo::sim {

/// Everything that a universe's folder may hold, in the order in which it is written.
inline constexpr std::array<Product, 5> kProducts = {{
    {"counts",
     "particles per voxel",
     "save_counts",
     true,
     true,
     {},
     &CountsMaker::name_files,
     &CountsMaker::disk_bytes,
     &CountsMaker::memory_bytes,
     &make_maker<CountsMaker>},
    {"particles",
     "snapshots",
     "save_particles",
     true,
     false,
     {.momenta = true, .ids = true},
     &ParticlesMaker::name_files,
     &ParticlesMaker::disk_bytes,
     &ParticlesMaker::memory_bytes,
     &make_maker<ParticlesMaker>},
    {"power-spectrum",
     "a table of P(k)",
     "power_spectrum",
     true,
     false,
     {.power_spectrum = true},
     &PowerSpectrumMaker::name_files,
     &PowerSpectrumMaker::disk_bytes,
     &no_memory,
     &make_maker<PowerSpectrumMaker>},
    {"correlation-function",
     "a table of ξ(r)",
     "correlation_function",
     false,
     false,
     {.correlation_function = true},
     &CorrelationFunctionMaker::name_files,
     &CorrelationFunctionMaker::disk_bytes,
     &no_memory,
     &make_maker<CorrelationFunctionMaker>},
    {"bispectrum",
     "a table of B of equilateral and squeezed triangles",
     "bispectrum",
     false,
     false,
     {.bispectrum = true},
     &BispectrumMaker::name_files,
     &BispectrumMaker::disk_bytes,
     &no_memory,
     &make_maker<BispectrumMaker>},
}};

}  // namespace cosmo::sim
