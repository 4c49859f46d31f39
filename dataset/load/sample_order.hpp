#pragma once

#include <cstdint>
#include <vector>

namespace cosmo::dataset {

/// The order in which an epoch visits the samples 0 … samples-1: a pure function of its arguments.
std::vector<std::uint32_t> sample_order(std::uint64_t seed, std::uint32_t epoch, std::uint32_t samples);

}  // namespace cosmo::dataset
