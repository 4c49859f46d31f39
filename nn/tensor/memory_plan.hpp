#pragma once
// Which tensors share which memory, decided before any of it is allocated.

#include <cstddef>
#include <vector>

#include "core/buffer.hpp"
#include "nn/tensor/onednn.hpp"

namespace cosmo::nn {

/// Places tensors in slots; allocate() then gives every slot one buffer, large enough for each of its
/// tensors.
class MemoryPlan {
 public:
  explicit MemoryPlan(const dnnl::engine& engine) : engine_(engine) {}

  /// Adds a slot and returns its number.
  int slot();
  /// Places a tensor in `slot`, `offset` bytes behind its begin, without data until allocate(). Tensors in one slot
  /// overwrite each other.
  dnnl::memory place(int slot, const dnnl::memory::desc& layout, std::size_t offset = 0);
  /// A tensor with a slot of its own.
  dnnl::memory keep(const dnnl::memory::desc& layout) { return place(slot(), layout); }
  /// A tensor whose data bind() gives.
  dnnl::memory outside(const dnnl::memory::desc& layout) const;
  /// Points a tensor from outside(), and its views, at `data`.
  void bind(const dnnl::memory& tensor, void* data);
  /// A part of `whole`, a tensor of this plan, with a layout from dnnl::memory::desc::submemory_desc.
  dnnl::memory view(const dnnl::memory& whole, const dnnl::memory::desc& layout);
  /// Allocates the slots, zeroed, and points all tensors at them. Throws std::bad_alloc.
  void allocate();
  /// [bytes] What allocate() takes.
  std::size_t bytes() const;

 private:
  struct Placement {
    int slot;
    std::size_t offset;
    dnnl::memory memory;
  };
  struct View {
    dnnl::memory whole;
    dnnl::memory part;
  };
  dnnl::engine engine_;
  std::vector<std::size_t> slot_bytes_;
  std::vector<Placement> placements_;
  std::vector<View> views_;
  std::vector<core::Buffer<std::byte>> buffers_;
};

}  // namespace cosmo::nn
