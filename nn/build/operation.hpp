#pragma once
// What a layer becomes: lists of operations.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nn/network.hpp"
#include "nn/tensor/onednn.hpp"

namespace cosmo::nn {

/// Arguments of an operation that belong to the pass through the network.
struct Pass {
  const dnnl::stream& stream;
  std::optional<DropoutDraw> dropout;  ///< forward only
};

/// A primitive, or one of our own kernels, with the tensors that it always works on.
struct Operation {
  OperationKind kind;
  std::string implementation;  ///< as in OperationRecord
  std::function<void(const Pass&)> run;
  double seconds = 0;  ///< time spent in it while operations were timed
};

/// One layer ready to run. The backward lists turn the gradient of its output into the gradients of its
/// parameters, then into the gradient of its input, including the input's leaky ReLU.
struct CompiledLayer {
  std::string name;
  std::vector<Operation> forward;
  std::vector<Operation> parameter_gradients;
  std::vector<Operation> input_gradient;
  std::vector<std::size_t> parameters;  ///< indices of its parameters
};

}  // namespace cosmo::nn
