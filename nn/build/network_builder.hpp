#pragma once
// What all layers are built with.

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "nn/build/operation.hpp"
#include "nn/cut/cut_plan.hpp"
#include "nn/network.hpp"
#include "nn/network_spec.hpp"
#include "nn/tensor/layouts.hpp"
#include "nn/tensor/memory_plan.hpp"
#include "nn/tensor/parameter_arena.hpp"
#include "nn/tensor/tensor_lanes.hpp"

namespace cosmo::nn {

/// Memory of a normalisation; its parameters and means have shape (features).
struct NormalisationMemory {
  dnnl::memory values;        ///< its input (batch, features)
  dnnl::memory gradient;      ///< gradient of its input
  dnnl::memory normalised;    ///< its output
  dnnl::memory d_normalised;  ///< gradient of its output
  ParameterMemory mean;
  ParameterMemory deviation;
  dnnl::memory mean_gradient;    ///< mean over the global batch of the output's gradients
  dnnl::memory mean_projection;  ///< likewise of these gradients times the output
  std::shared_ptr<int> rows;     ///< number of rows that hold samples
};

/// What layers are built from: the engine, the plans of the memory, and the emission of operations.
class NetworkBuilder {
 public:
  /// For a rank's slab of the samples that it shares with others, or for whole samples (nullptr).
  NetworkBuilder(const dnnl::engine& engine, Mode mode, const Arithmetic& arithmetic, int batch,
                 const Share* share);
  NetworkBuilder(const NetworkBuilder&) = delete;  // the lanes refer to the memory
  NetworkBuilder& operator=(const NetworkBuilder&) = delete;

  dnnl::engine engine;
  Mode mode;
  Arithmetic arithmetic;
  int batch;
  std::optional<Share> share;
  MemoryPlan memory{engine};
  TensorLanes tensors{memory, mode == Mode::training};
  ParameterArena parameters{engine};
  NormalisationMemory normalisation;  ///< the network's, if it has one
  double exchanging = 0;        ///< [s] time spent in communication with the ranks that share the samples
  std::uint32_t droppable = 0;  ///< values per sample in the dropout layers so far, each rounded up to four

  /// Begins layer `index`: see TensorLanes.
  void begin_layer(int index, int last_reader, std::optional<int> before, bool forward_only);
  /// Whether the current layer reads a slab of a tensor.
  bool reads_slab() const { return share && share->plan.reads_slab(layer_); }
  /// The planes of the current layer, if it reads a slab: of its output that are made, of its input that are seen.
  struct LayerSlab {
    core::Slab made, seen;
  };
  std::optional<LayerSlab> slab() const {
    if (!reads_slab()) return std::nullopt;
    return LayerSlab{share->plan.made(layer_, share->rank), share->plan.seen(layer_, share->rank)};
  }
  /// The padding of the current layer along D: a slab includes it.
  std::int64_t depth_padding(const Convolution& layer) const { return reads_slab() ? 0 : layer.padding; }
  /// Whether a phase of a convolution is to be filtered.
  bool filters(const CompiledLayer& layer, Phase phase) const;

  /// Adds a parameter to the layer.
  ParameterMemory add_parameter(CompiledLayer& layer, Parameter parameter, const dnnl::memory::desc& layout);
  /// `source` in `layout`: itself or a view of it if it already has that layout, otherwise a copy, made by an
  /// operation added to `operations`. Temporary copies share one slot: only the operation that follows may
  /// use them.
  dnnl::memory reordered(std::vector<Operation>& operations, const dnnl::memory& source,
                         const dnnl::memory::desc& layout, bool temporary);
  /// Appends a copy of `source` into `target`'s layout.
  void append_reorder(std::vector<Operation>& operations, const dnnl::memory& source,
                      const dnnl::memory& target);
  /// Appends a oneDNN primitive with its scratch space.
  void append(std::vector<Operation>& operations, const dnnl::primitive_desc_base& description,
              std::unordered_map<int, dnnl::memory> arguments);
  /// Attributes of every primitive: scratch space from the plan and, unless slope is 1, a leaky ReLU on the
  /// result.
  dnnl::primitive_attr attributes(double slope) const;
  dnnl::prop_kind forward_kind() const;

 private:
  int scratch_slot_;
  int layer_ = 0;
};

}  // namespace cosmo::nn
