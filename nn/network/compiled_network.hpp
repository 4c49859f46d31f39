#pragma once
// The layers of a network with their operations.

#include <vector>

#include "nn/graph.hpp"
#include "nn/layer/layers.hpp"

namespace cosmo::nn {

/// The layers of a network, built from its specification, for whole samples or a rank's slabs of them.
struct CompiledNetwork {
  CompiledNetwork(const dnnl::engine& engine, const NetworkSpec& spec, Shape input_shape, int batch,
                  Mode mode, const Arithmetic& arithmetic, const Share* share);
  CompiledNetwork(const CompiledNetwork&) = delete;  // operations refer to the builder
  CompiledNetwork& operator=(const CompiledNetwork&) = delete;

  NetworkBuilder builder;
  dnnl::stream stream{builder.engine};
  Tensor input;
  std::vector<Tensor> tensors;  ///< the layers' outputs
  Tensor output;                ///< the last one, row-major
  std::vector<CompiledLayer> layers;
  int features = -1;  ///< the layer whose output, a vector, the last dense layer reads; -1: there is none
  std::vector<Operation>
      output_gradient;  ///< backward pass of the copy to `output` and of the last leaky ReLU

 private:
  const Tensor& tensor(int index) const {
    return index < 0 ? input : tensors[static_cast<std::size_t>(index)];
  }
  void build_layer(const NetworkSpec& spec, const Graph& graph, int index);
  std::optional<Fetch> fetch_of(const Graph::Read& read) const;
  std::optional<int> planes_before(const Graph& graph, int layer) const;
  const Layer* next_to_read(const Graph& graph, int layer) const;
  Tensor input_of(const NetworkSpec& spec, const Graph& graph, const Graph::Read& read);
  void append_output();
  void append_sum_of_gradients(const Graph& graph, const Graph::Read& read, const Tensor& seen);
};

}  // namespace cosmo::nn
