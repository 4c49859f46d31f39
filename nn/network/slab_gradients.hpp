#pragma once
// Private to nn: the gradients of the slabs of a sample.

#include <optional>
#include <span>
#include <vector>

#include "nn/cut/cut_plan.hpp"
#include "nn/layer/layers.hpp"

namespace cosmo::nn {

/// Where a rank's slabs write the gradients of the parameters. They add to one gradient, unless the order of all sums must
/// not depend on ranks: then those of layers that are cut are kept apart for each slab of all ranks, of slab 0 among
/// the gradients and of the others before these.
class SlabGradients {
 public:
  /// For the layers of a rank's first slab and the arena of their parameters, which must outlive this.
  SlabGradients(const std::optional<Share>& share, bool apart, ParameterArena& arena,
                const std::vector<CompiledLayer>& layers);

  /// Number of values to allocate before the gradients.
  std::size_t extra() const { return starts_.back(); }
  /// From a layer's first gradient to the end of its last. It must have parameters.
  std::span<float> of_layer(std::size_t layer) const;
  /// The same for a slab.
  std::span<float> of_slab(std::size_t layer, int slab) const;
  /// Makes a slab's layers write there.
  void attach(std::span<const CompiledLayer> layers, int slab, ParameterArena& parameters) const;
  /// Gives −0, which changes nothing that it is added to, to gradients that other ranks compute: those of their slabs, and
  /// unless this is the first rank those of whole layers.
  void leave_to_others(std::size_t layer) const;
  /// Adds those of all slabs in a tree: neighbours, then pairs of neighbours.
  void sum() const;

 private:
  bool is_apart(std::size_t layer) const { return starts_[layer + 1] > starts_[layer]; }
  /// Number of values of a layer's parameters, padding included.
  std::size_t size(std::size_t layer) const;

  const std::optional<Share>& share_;
  ParameterArena& arena_;
  const std::vector<CompiledLayer>& layers_;
  int slabs_;                        ///< number of slabs whose gradients are kept apart
  std::vector<std::size_t> starts_;  ///< (layers + 1) where those of slabs other than 0 begin
};

}  // namespace cosmo::nn
