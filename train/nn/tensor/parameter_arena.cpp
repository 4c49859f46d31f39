#include "train/nn/tensor/parameter_arena.hpp"

#include <utility>

namespace cosmo::nn {

ParameterMemory ParameterArena::add(Parameter parameter, const dnnl::memory::desc& layout,
                                    const dnnl::engine& engine) {
  constexpr std::size_t kFloatsPerLine = core::Buffer<float>::kAlignment / sizeof(float);
  parameter.index = parameters_.size();
  parameter.offset = size_;
  parameters_.push_back(std::move(parameter));
  layouts_.push_back(layout);
  memories_.push_back(
      {dnnl::memory(layout, engine, DNNL_MEMORY_NONE), dnnl::memory(layout, engine, DNNL_MEMORY_NONE)});
  const std::size_t floats = layout.get_size() / sizeof(float);
  size_ += (floats + kFloatsPerLine - 1) / kFloatsPerLine * kFloatsPerLine;
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
    parameter.gradient = gradients_.span().subspan(parameter.offset, floats);
    memories_[parameter.index].gradient.set_data_handle(parameter.gradient.data());
  }
}

}  // namespace cosmo::nn
