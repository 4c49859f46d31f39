#pragma once
// Private to train/nn: gradients that are summed over as many parts of the volume, whatever the number of
// threads, and then over the parts.

#include <cstdint>

namespace cosmo::nn {

/// Sums over `values` (parts, size), of which the first in each part are those of the weights, the others
/// those of the biases. To be called by all threads of a team, or by one alone.
inline void sum_parts(const float* values, std::int64_t parts, std::int64_t weights, std::int64_t size,
                      float* d_weights, float* d_biases) {
#pragma omp for schedule(static)
  for (std::int64_t i = 0; i < size; ++i) {
    float sum = 0;
    for (std::int64_t part = 0; part < parts; ++part) sum += values[part * size + i];
    (i < weights ? d_weights[i] : d_biases[i - weights]) = sum;
  }
}

}  // namespace cosmo::nn
