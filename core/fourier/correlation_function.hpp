#pragma once

#include <cstdint>
#include <vector>

#include "core/fourier/fourier_mesh.hpp"
#include "core/fourier/window.hpp"

namespace cosmo::fourier {

/// A correlation function in bins of one mesh cell, bin b centred on b + 1 cells, up to half the box.
struct CorrelationFunction {
  std::vector<double> r;                  ///< mean length of the bin's separations [Mpc/h]
  std::vector<double> xi;                 ///< mean of ξ(x) = Σ |modes(k)|² exp(ikx) over them
  std::vector<std::int64_t> separations;  ///< number of mesh separations; x and -x both count
};

/// The correlation function of a density contrast given by its modes, which are overwritten. |modes|² is
/// divided by W² of the assignment, as in power_spectrum(). White shot noise is at r = 0 alone, which no bin
/// contains. Gives the same bits for any number of ranks and threads; temporarily takes 8 n² bytes on each
/// rank. Collective.
CorrelationFunction correlation_function(FourierMesh& delta, MassAssignment assignment);

}  // namespace cosmo::fourier
