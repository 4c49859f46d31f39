#pragma once

#include <cstdint>
#include <span>

#include "nn/network.hpp"

namespace cosmo::nn {

/// Sets the initial values: weights uniform in ±√(6 / (fan_in + fan_out)); biases 0.1, also in the last layer
/// unless `last_biases` (outputs) gives them; mean 0 and deviation 1 for a normalisation. A weight is a pure
/// function of (seed, index of the parameter, index of the element in the plain layout), so that it does not
/// depend on layouts, threads or ranks. Source: Glorot & Bengio 2010 (PMLR 9, 249), equation 16;
/// biases and the choice from the authors' code of the 2018 paper (github.com/NERSC/CosmoFlow, CosmoNet.py:
/// xavier_initializer, bias_variable).
void initialise(Network& network, std::uint64_t seed, std::span<const float> last_biases = {});

}  // namespace cosmo::nn
