#pragma once
// The flat arenas that hold all weights and all gradients of a network.

#include <vector>

#include "core/buffer.hpp"
#include "nn/parameter.hpp"
#include "nn/tensor/onednn.hpp"

namespace cosmo::nn {

/// Where an operation finds a parameter.
struct ParameterMemory {
  dnnl::memory values;
  dnnl::memory gradient;  ///< without data in inference
};

/// All parameters, one after the other, each starting at a 64-byte boundary, in its oneDNN layout.
class ParameterArena {
 public:
  explicit ParameterArena(const dnnl::engine& engine) : engine_(engine) {}

  /// Appends a parameter; its spans and memories have no data until allocate().
  ParameterMemory add(Parameter parameter, const dnnl::memory::desc& layout);
  /// Allocates the arenas, zeroed, that of the gradients only if requested. Throws std::bad_alloc.
  void allocate(bool with_gradients);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  const dnnl::memory::desc& layout(std::size_t index) const { return layouts_.at(index); }
  std::span<float> values() { return values_.span(); }
  std::span<float> gradients() { return gradients_.span(); }
  /// From the first gradient of a parameter to the last of another, padding behind that included.
  std::span<float> gradients(std::size_t first, std::size_t last);
  /// [bytes] Size of both arenas, or of the values alone, allocated or not.
  std::size_t bytes(bool with_gradients) const { return (with_gradients ? 2 : 1) * size_ * sizeof(float); }

 private:
  dnnl::engine engine_;
  std::vector<Parameter> parameters_;
  std::vector<dnnl::memory::desc> layouts_;
  std::vector<ParameterMemory> memories_;
  std::size_t size_ = 0;  // floats
  core::Buffer<float> values_;
  core::Buffer<float> gradients_;
};

}  // namespace cosmo::nn
