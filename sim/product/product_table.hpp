#pragma once

#include <array>

#include "sim/product/counts.hpp"
#include "sim/product/initial.hpp"
#include "sim/product/particles.hpp"
#include "sim/product/product.hpp"
#include "sim/product/tables.hpp"
#include "sim/product/velocity.hpp"
#include "sim/product/web.hpp"

namespace cosmo::sim {

/// Everything that a universe's folder may hold, in the order in which it is written.
inline constexpr std::array kProducts = {
    made_by<CountsMaker>({.name = "counts",
                          .meaning = "particles per voxel",
                          .key = "save_counts",
                          .old = true,
                          .on_voxels = true,
                          .in_packs = true}),
    made_by<ParticlesMaker>({.name = "particles",
                             .meaning = "snapshots",
                             .key = "save_particles",
                             .old = true,
                             .needs = {.momenta = true, .ids = true}}),
    made_by<InitialFieldMaker>(
        {.name = "initial",
         .meaning = "the linear density of z = 0 that it began with, at voxels' centres",
         .key = "initial",
         .on_voxels = true,
         .needs = {.initial_field = true}}),
    made_by<VelocityMaker>({.name = "velocity",
                            .meaning = "momentum per voxel over a voxel's mean mass, km/s",
                            .key = "velocity",
                            .on_voxels = true,
                            .needs = {.momenta = true}}),
    made_by<WebMaker>({.name = "web",
                       .meaning = "the class of each voxel: 0 void, 1 wall, 2 filament, 3 node",
                       .key = "web",
                       .on_voxels = true,
                       .needs = {.real_space = true}}),
    made_by<PowerSpectrumMaker>({.name = "power-spectrum",
                                 .meaning = "a table of P(k)",
                                 .key = "power_spectrum",
                                 .old = true,
                                 .implied = true,
                                 .in_packs = true,
                                 .needs = {.power_spectrum = true}}),
    made_by<MeasureMaker<CorrelationFunctionTable>>({.name = "correlation-function",
                                                     .meaning = "a table of ξ(r)",
                                                     .key = "correlation_function",
                                                     .needs = {.correlation_function = true}}),
    made_by<MeasureMaker<BispectrumTable>>({.name = "bispectrum",
                                            .meaning = "a table of B of equilateral and squeezed triangles",
                                            .key = "bispectrum",
                                            .needs = {.bispectrum = true}}),
};

}  // namespace cosmo::sim
