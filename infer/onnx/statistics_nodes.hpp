#pragma once

#include <string>

#include "dataset/regression/statistics_regression.hpp"
#include "dataset/quantity/voxel_transform.hpp"
#include "infer/onnx/onnx_graph.hpp"
#include "nn/model/input_spec.hpp"

namespace cosmo::infer {

/// What summary statistics of samples are measured from.
struct StatisticsSource {
  const nn::InputSpec& input;
  const dataset::VoxelTransform& transform;
  std::string counts;  ///< the graph's input (N, C, n, n, n)
  std::string voxels;  ///< the network's (N, C, n, n, n)
};

/// Appends the nodes that measure dataset::SummaryStatistics and predict labels (N, P) from them, unclipped; returns the
/// tensor's name. The modes of a sample are products with real (n, n) matrices along its three axes. Throws Error{format}
/// if the regression does not fit the statistics.
///
/// A feature that varied by less than float32 resolves counts as its mean.
std::string append_regression(OnnxGraph& graph, const StatisticsSource& source,
                              const dataset::StatisticsRegression& regression);

/// Bytes of the constants that this appends, at most.
std::size_t regression_constant_bytes(const nn::InputSpec& input);

}  // namespace cosmo::infer
