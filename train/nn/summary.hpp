#pragma once

#include <string>

#include "train/nn/census.hpp"

namespace cosmo::nn {

/// A table of the network's layers with shapes and parameters, and its totals; lines end in \n.
std::string describe(const NetworkSpec& spec, const NetworkCensus& census);

}  // namespace cosmo::nn
