#include "nn/tensor/tensor_lanes.hpp"

#include <algorithm>

#include "nn/tensor/layouts.hpp"

namespace cosmo::nn {

void TensorLanes::begin_layer(int index, int last_reader, std::optional<int> before, bool forward_only) {
  layer_ = index;
  last_reader_ = last_reader;
  before_ = before;
  forward_only_ = forward_only;
}

std::optional<std::size_t> TensorLanes::offset(const dnnl::memory::desc& layout) const {
  const dnnl::memory::dims dims = dims_of(layout);
  const bool one_image =
      before_ && dims.size() == 5 && dims[0] == 1 && channel_block(layout).channels == dims[1];
  if (!one_image) return std::nullopt;
  return layout.get_size() / static_cast<std::size_t>(dims[2]) * static_cast<std::size_t>(*before_);
}

int TensorLanes::take_lane(int last) {
  auto lane =
      std::ranges::find_if(lanes_, [&](const Lane& candidate) { return candidate.busy_until < layer_; });
  if (lane == lanes_.end()) lane = lanes_.insert(lane, {memory_.slot(), 0});
  lane->busy_until = last;
  return static_cast<int>(lane - lanes_.begin());
}

void TensorLanes::keep_for_readers(int lane) {
  if (lane < 0) return;
  int& busy_until = lanes_[static_cast<std::size_t>(lane)].busy_until;
  busy_until = std::max(busy_until, last_reader_);
}

Tensor TensorLanes::input(const dnnl::memory::desc& layout) const { return {memory_.outside(layout), {}, 1}; }

Tensor TensorLanes::copied_input(const dnnl::memory::desc& layout) { return {memory_.keep(layout), {}, 1}; }

Tensor TensorLanes::output(const dnnl::memory::desc& layout, double slope) {
  const int lane = take_lane(last_reader_), shared = slot_of(lane);
  const auto behind = offset(layout);
  const Margin margin = {training_ && !forward_only_ ? memory_.slot() : shared, training_ ? shared : -1};
  return {memory_.place(margin.values, layout, behind.value_or(0)),
          training_ ? memory_.place(shared, layout, behind.value_or(0)) : dnnl::memory(),
          slope,
          false,
          lane,
          false,
          behind ? std::optional(margin) : std::nullopt};
}

Tensor TensorLanes::inner(const dnnl::memory::desc& layout) {
  const int lane = take_lane(layer_), shared = slot_of(lane);
  if (!training_) return {memory_.place(shared, layout), {}, 1, false, lane};
  return {memory_.keep(layout), memory_.place(shared, layout), 1, false, lane};
}

dnnl::memory TensorLanes::gradient_part(const dnnl::memory::desc& layout) {
  return memory_.place(slot_of(take_lane(layer_)), layout);
}

}  // namespace cosmo::nn
