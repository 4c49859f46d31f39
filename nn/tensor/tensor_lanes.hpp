#pragma once
// Which tensors of a network's layers share memory.

#include <optional>
#include <vector>

#include "nn/tensor/memory_plan.hpp"
#include "nn/tensor/tensor.hpp"

namespace cosmo::nn {

/// Places tensors layer by layer. A lane is a slot that tensors use one after another. In training values have slots of
/// their own, except those that no backward pass reads, and a gradient shares a lane with those whose readers are all done; in
/// inference the values share lanes in this way.
class TensorLanes {
 public:
  /// For training or for inference.
  TensorLanes(MemoryPlan& memory, bool training)
      : memory_(memory), training_(training), temporary_slot_(memory.slot()) {}

  /// Begins layer `index`, whose output is last read by layer `last_reader`, which fetches `before` planes before it
  /// (nothing: its readers need none). `forward_only`: no backward pass reads its values.
  void begin_layer(int index, int last_reader, std::optional<int> before, bool forward_only = false);
  /// Records that the current layer passes on its input, which lives in `lane`, as its output.
  void keep_for_readers(int lane);
  /// The network's input, which has no gradient and whose data the caller of the network provides.
  Tensor input(const dnnl::memory::desc& layout) const;
  /// A copy of the input in another layout, with its own slot and without a gradient.
  Tensor copied_input(const dnnl::memory::desc& layout);
  /// The output of the current layer.
  Tensor output(const dnnl::memory::desc& layout, double slope);
  /// A tensor, and its gradient, used only within the layer.
  Tensor inner(const dnnl::memory::desc& layout);
  /// A part of a gradient, kept until this layer's backward pass is over.
  dnnl::memory gradient_part(const dnnl::memory::desc& layout);
  /// A tensor in the slot that temporary copies share: only one operation may use it, and only the operation
  /// right before that may fill it.
  dnnl::memory temporary(const dnnl::memory::desc& layout) { return memory_.place(temporary_slot_, layout); }

 private:
  struct Lane {
    int slot;
    int busy_until;  ///< last layer that needs its contents
  };
  /// [bytes] Where the current layer's output lies in its slot, if there is to be a margin and its planes would be next to
  /// it.
  std::optional<std::size_t> offset(const dnnl::memory::desc& layout) const;
  /// Takes a lane that is free from this layer on and keeps it until layer `last`.
  int take_lane(int last);
  int slot_of(int lane) const { return lanes_[static_cast<std::size_t>(lane)].slot; }

  MemoryPlan& memory_;
  bool training_;
  int temporary_slot_;
  std::vector<Lane> lanes_;
  int layer_ = 0;
  int last_reader_ = 0;
  std::optional<int> before_;
  bool forward_only_ = false;
};

}  // namespace cosmo::nn
