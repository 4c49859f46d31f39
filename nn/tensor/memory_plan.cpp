#include "nn/tensor/memory_plan.hpp"

#include <algorithm>
#include <numeric>

namespace cosmo::nn {

int MemoryPlan::slot() {
  slot_bytes_.push_back(0);
  return static_cast<int>(slot_bytes_.size()) - 1;
}

dnnl::memory MemoryPlan::place(int slot, const dnnl::memory::desc& layout, std::size_t offset) {
  std::size_t& bytes = slot_bytes_.at(static_cast<std::size_t>(slot));
  bytes = std::max(bytes, offset + layout.get_size());
  placements_.push_back({slot, offset, dnnl::memory(layout, engine_, DNNL_MEMORY_NONE)});
  return placements_.back().memory;
}

dnnl::memory MemoryPlan::outside(const dnnl::memory::desc& layout) const {
  return {layout, engine_, DNNL_MEMORY_NONE};
}

void MemoryPlan::bind(const dnnl::memory& tensor, void* data) {
  dnnl::memory(tensor).set_data_handle(data);
  for (View& view : views_)
    if (view.whole.get() == tensor.get()) view.part.set_data_handle(data);
}

dnnl::memory MemoryPlan::view(const dnnl::memory& whole, const dnnl::memory::desc& layout) {
  views_.push_back({whole, dnnl::memory(layout, engine_, DNNL_MEMORY_NONE)});
  return views_.back().part;
}

void MemoryPlan::allocate() {
  for (const std::size_t bytes : slot_bytes_) buffers_.push_back(core::zeros<std::byte>(bytes));
  for (Placement& placement : placements_) {
    placement.memory.set_data_handle(buffers_[static_cast<std::size_t>(placement.slot)].data() +
                                     placement.offset);
  }
  for (View& view : views_) view.part.set_data_handle(view.whole.get_data_handle());
}

std::size_t MemoryPlan::bytes() const {
  return std::accumulate(slot_bytes_.begin(), slot_bytes_.end(), std::size_t{0});
}

}  // namespace cosmo::nn
