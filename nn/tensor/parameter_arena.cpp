#include "nn/tensor/parameter_arena.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"

namespace cosmo::nn {

namespace {

/// Floats that a tensor takes: whole lines of the cache.
std::size_t floats_of(const dnnl::memory::desc& layout) {
  constexpr std::size_t kFloatsPerLine = core::Buffer<float>::kAlignment / sizeof(float);
  const std::size_t floats = layout.get_size() / sizeof(float);
  return (floats + kFloatsPerLine - 1) / kFloatsPerLine * kFloatsPerLine;
}

}  // namespace

ParameterMemory ParameterArena::add(Parameter parameter, const dnnl::memory::desc& layout,
                                    const dnnl::engine& engine) {
  parameter.index = parameters_.size();
  parameter.offset = size_;
  parameters_.push_back(std::move(parameter));
  layouts_.push_back(layout);
  memories_.push_back(
      {dnnl::memory(layout, engine, DNNL_MEMORY_NONE), dnnl::memory(layout, engine, DNNL_MEMORY_NONE)});
  size_ += floats_of(layout);
  return memories_.back();
}

void ParameterArena::allocate(bool with_gradients, std::size_t extra) {
  values_ = core::zeros<float>(size_);
  extra_floats_ = with_gradients ? extra : 0;
  if (with_gradients) gradients_ = core::zeros<float>(extra_floats_ + size_);
  for (Parameter& parameter : parameters_) {
    const std::size_t floats = layouts_[parameter.index].get_size() / sizeof(float);
    parameter.values = values_.span().subspan(parameter.offset, floats);
    memories_[parameter.index].values.set_data_handle(parameter.values.data());
    if (!with_gradients) continue;
    parameter.gradient = gradients().subspan(parameter.offset, floats);
    memories_[parameter.index].gradient.set_data_handle(parameter.gradient.data());
  }
}

void ParameterArena::share(const ParameterArena& other) {
  for (Parameter& parameter : parameters_) {
    const auto same = std::ranges::find(other.parameters_, parameter.name, &Parameter::name);
    core::ensure(same != other.parameters_.end() && other.layout(same->index) == layout(parameter.index),
                 core::Fault::internal, "oneDNN lays out {} in two ways for slabs of one sample.",
                 parameter.name);
    parameter.values = same->values;
    memories_[parameter.index].values.set_data_handle(parameter.values.data());
  }
}

void ParameterArena::point_at_gradient(std::size_t index, float* place) {
  memories_[index].gradient.set_data_handle(place);
}

std::size_t ParameterArena::stretch(std::size_t first, std::size_t last) const {
  return parameters_[last].offset + floats_of(layouts_[last]) - parameters_[first].offset;
}

}  // namespace cosmo::nn
