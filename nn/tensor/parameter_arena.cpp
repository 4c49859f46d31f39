#include "nn/tensor/parameter_arena.hpp"

#include <utility>

namespace cosmo::nn {

namespace {

/// Floats that a tensor takes: whole lines of the cache.
std::size_t floats_of(const dnnl::memory::desc& layout) {
  constexpr std::size_t kFloatsPerLine = core::Buffer<float>::kAlignment / sizeof(float);
  const std::size_t floats = layout.get_size() / sizeof(float);
  return (floats + kFloatsPerLine - 1) / kFloatsPerLine * kFloatsPerLine;
}

}  // namespace

ParameterMemory ParameterArena::add(Parameter parameter, const dnnl::memory::desc& layout) {
  parameter.index = parameters_.size();
  parameter.offset = size_;
  parameters_.push_back(std::move(parameter));
  layouts_.push_back(layout);
  memories_.push_back(
      {dnnl::memory(layout, engine_, DNNL_MEMORY_NONE), dnnl::memory(layout, engine_, DNNL_MEMORY_NONE)});
  size_ += floats_of(layout);
  return memories_.back();
}

void ParameterArena::allocate(bool with_gradients) {
  values_ = core::zeros<float>(size_);
  if (with_gradients) gradients_ = core::zeros<float>(size_);
  for (Parameter& parameter : parameters_) {
    const std::size_t floats = layouts_[parameter.index].get_size() / sizeof(float);
    parameter.values = values_.span().subspan(parameter.offset, floats);
    memories_[parameter.index].values.set_data_handle(parameter.values.data());
    if (!with_gradients) continue;
    parameter.gradient = gradients().subspan(parameter.offset, floats);
    memories_[parameter.index].gradient.set_data_handle(parameter.gradient.data());
  }
}

std::span<float> ParameterArena::gradients(std::size_t first, std::size_t last) {
  const std::size_t begin = parameters_[first].offset;
  return gradients_.span().subspan(begin, parameters_[last].offset + floats_of(layouts_[last]) - begin);
}

}  // namespace cosmo::nn
