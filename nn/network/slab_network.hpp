#pragma once
// Private to nn: the layers that a slab of the samples runs through, or whole samples.

#include <vector>

#include "nn/graph.hpp"
#include "nn/layer/layers.hpp"

namespace cosmo::nn {

/// The layers of a network, built from its specification. Where samples are cut into slabs, each slab has its own
/// layers, and the first of a rank also those that are not cut, which the others have without operations.
struct SlabNetwork {
  SlabNetwork(const dnnl::engine& engine, const NetworkSpec& spec, Shape input_shape, int batch, Mode mode,
              const Arithmetic& arithmetic, const Share* share, int slab);
  SlabNetwork(const SlabNetwork&) = delete;  // operations refer to the builder
  SlabNetwork& operator=(const SlabNetwork&) = delete;

  /// Runs operations from `next` on, up to one that exchanges, which it begins. Their times count with a weight;
  /// 0: they are not timed.
  void run_to_exchange(std::vector<Operation>& operations, const std::optional<DropoutDraw>& dropout,
                       double weight);
  /// Ends that.
  void end_exchange(std::vector<Operation>& operations);

  NetworkBuilder builder;
  dnnl::stream stream{builder.engine};
  Tensor input;
  std::vector<Tensor> tensors;  ///< the layers' outputs
  std::vector<CompiledLayer> layers;
  std::vector<Operation> last_relu;  ///< backward pass of the last leaky ReLU
  std::size_t next = 0;              ///< number of operations of a list that are done

 private:
  const Tensor& tensor(int index) const {
    return index < 0 ? input : tensors[static_cast<std::size_t>(index)];
  }
  void build_layer(const NetworkSpec& spec, const Graph& graph, int index);
  std::optional<Fetch> fetch_of(const Graph::Read& read) const;
  std::optional<int> planes_before(const Graph& graph, int layer) const;
  const Layer* next_to_read(const Graph& graph, int layer) const;
  Tensor input_of(const NetworkSpec& spec, const Graph& graph, const Graph::Read& read);
  void append_sum_of_gradients(const Graph& graph, const Graph::Read& read, const Tensor& seen);
};

}  // namespace cosmo::nn
