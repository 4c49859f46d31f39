#pragma once
// Gradients that are summed within a fixed number of parts of the volume, independent of
// the number of threads, and then over the parts. Within a part rows, and groups of them, are summed first: where a
// normalisation makes gradients of samples cancel, what remains is a hundredth of its terms.

#include <cstdint>

namespace cosmo::nn {
namespace {  // each file that includes this has its own copy, for its own instruction set

/// Sums `values` (parts, size) over the parts. In each part the first `weights` values belong to the weights,
/// the others to the biases. Call it from all threads of a team, or from a single thread.
inline void sum_parts(const float* values, std::int64_t parts, std::int64_t weights, std::int64_t size,
                      float* d_weights, float* d_biases) {
#pragma omp for schedule(static)
  for (std::int64_t i = 0; i < size; ++i) {
    float sum = 0;
    for (std::int64_t part = 0; part < parts; ++part) sum += values[part * size + i];
    (i < weights ? d_weights[i] : d_biases[i - weights]) = sum;
  }
}

}  // namespace
}  // namespace cosmo::nn
