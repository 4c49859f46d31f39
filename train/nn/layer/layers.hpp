#pragma once
// Private to train/nn: how layers of a specification become lists of oneDNN operations.

#include <functional>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/bfloat16.hpp"
#include "train/nn/layer/memory_plan.hpp"
#include "train/nn/layer/parameter_arena.hpp"
#include "train/nn/network.hpp"
#include "train/nn/network_spec.hpp"

namespace cosmo::nn {

/// What an operation is told of the pass through the network that it is part of.
struct Pass {
  const dnnl::stream& stream;
  std::optional<DropoutDraw> dropout;  ///< forward only
};

/// A primitive, or a kernel of ours, with the tensors that it always works on.
struct Operation {
  Work work;
  std::string implementation;  ///< as in OperationRecord
  std::function<void(const Pass&)> run;
  double seconds = 0;  ///< spent in it while operations were timed
};

/// The output of a layer, or the network's input.
struct Tensor {
  dnnl::memory values;
  /// Of the loss with respect to the layer's result before its leaky ReLU; nullptr where nobody needs it.
  dnnl::memory gradient;
  double slope = 1;  ///< of the leaky ReLU that made it
  /// Whether the values live only until their reader, a pool that keeps what backward needs, has run forward.
  bool transient = false;
  /// Whether it is already what the pool that reads it would make of it.
  bool pooled = false;
  int lane = -1;  ///< that it lives in, or its gradient; -1 of the network's input
};

/// One layer ready to run. The backward lists turn the gradient of its output into those of its parameters,
/// then into that of its input, the input's leaky ReLU included.
struct CompiledLayer {
  std::string name;
  std::vector<Operation> forward;
  std::vector<Operation> parameter_gradients;
  std::vector<Operation> input_gradient;
  std::vector<std::size_t> parameters;  ///< indices of its parameters
};

/// What a normalisation works on beside its input and output, (features) each.
struct NormalisationMemory {
  dnnl::memory values;        ///< its input (batch, features)
  dnnl::memory gradient;      ///< of its input
  dnnl::memory normalised;    ///< its output
  dnnl::memory d_normalised;  ///< gradient of its output
  ParameterMemory mean;
  ParameterMemory deviation;
  dnnl::memory mean_gradient;    ///< over the global batch, of the gradients of the output
  dnnl::memory mean_projection;  ///< likewise, of these times the output
  std::shared_ptr<int> rows;     ///< of the batch that hold samples
};

/// What layers are built with and from: the engine and the memory plans.
class Workshop {
 public:
  Workshop(Mode mode, Precision precision, int batch);

  Mode mode;
  Precision precision;
  int batch;
  dnnl::engine engine;
  MemoryPlan memory;
  ParameterArena parameters;
  NormalisationMemory normalisation;  ///< of the network's, if it has one
  std::uint32_t droppable = 0;  ///< values of a sample in the dropout layers so far, each rounded up to four

  /// Begins layer `index`, the last reader of whose output is `last_reader`.
  void begin_layer(int index, int last_reader);
  /// Notes that layer `index` handed on its input, which lives in `lane`, as its output.
  void keep_for_readers(int lane);
  /// A tensor of the layer: in training with a slot of its own for its values, and one for its gradient that
  /// it shares with others, whose readers are all done; in inference the values share slots so. A transient
  /// tensor lives where its gradient will.
  Tensor next_tensor(const dnnl::memory::desc& layout, double slope, bool transient);
  /// A tensor that only the layer itself knows, and its gradient likewise.
  Tensor inner_tensor(const dnnl::memory::desc& layout);
  /// Room for a part of a gradient, until this layer's backward pass is over.
  dnnl::memory gradient_part(const dnnl::memory::desc& layout);
  /// The network's input: a slot of its own and no gradient.
  Tensor input_tensor(const dnnl::memory::desc& layout);
  /// `source` in `layout`: itself, or a view of it, if it is so already, otherwise a copy that an operation
  /// added to `operations` makes. Temporary copies share one slot: only the operation that follows may use
  /// them.
  dnnl::memory reordered(std::vector<Operation>& operations, const dnnl::memory& source,
                         const dnnl::memory::desc& layout, bool temporary);
  /// A tensor in the slot that temporary copies share: only the operation before which it is filled may use
  /// it.
  dnnl::memory temporary(const dnnl::memory::desc& layout);
  /// A parameter of the layer.
  ParameterMemory add_parameter(CompiledLayer& layer, Parameter parameter, const dnnl::memory::desc& layout);
  /// Appends a copy of `source` into `target`'s layout.
  void append_reorder(std::vector<Operation>& operations, const dnnl::memory& source,
                      const dnnl::memory& target);
  /// Appends a primitive of oneDNN with its scratch space.
  void append(std::vector<Operation>& operations, const dnnl::primitive_desc_base& description,
              const dnnl::primitive& primitive, std::unordered_map<int, dnnl::memory> arguments);
  /// Attributes of every primitive: scratch space from the plan and, unless slope is 1, a leaky ReLU on the
  /// result.
  dnnl::primitive_attr attributes(double slope) const;
  dnnl::prop_kind forward_kind() const;

 private:
  /// A slot that tensors share one after the other, in the order of the layers.
  struct Lane {
    int slot;
    int busy_until;  ///< the layer that is the last to need what is in it
  };
  /// A lane that is free from this layer on, kept until `last`.
  int take_lane(int last);

  int scratch_slot_;
  int temporary_slot_;
  std::vector<Lane> lanes_;
  int layer_ = 0;
  int last_reader_ = 0;
};

using Tensors = std::span<const Tensor>;

/// Builds a layer. `reader` is the one layer that reads its output, or nullptr if there are several or none.
Tensor build(Workshop& shop, CompiledLayer& compiled, const Convolution& layer, const Tensor& source,
             const Layer* reader);
Tensor build(Workshop& shop, CompiledLayer& compiled, const TransposedConvolution& layer,
             const Tensor& source, const Layer* reader);
Tensor build(Workshop& shop, CompiledLayer& compiled, const Resample& layer, const Tensor& source,
             const Layer* reader);
Tensor build(Workshop& shop, CompiledLayer& compiled, const AveragePool& layer, const Tensor& source,
             const Layer* reader);
Tensor build(Workshop& shop, CompiledLayer& compiled, const MaxPool& layer, const Tensor& source,
             const Layer* reader);
Tensor build(Workshop& shop, CompiledLayer& compiled, const Dense& layer, const Tensor& source,
             const Layer* reader);
Tensor build(Workshop& shop, CompiledLayer& compiled, const Dropout& layer, const Tensor& source,
             const Layer* reader);
Tensor build(Workshop& shop, CompiledLayer& compiled, const Tanh& layer, const Tensor& source,
             const Layer* reader);
Tensor build(Workshop& shop, CompiledLayer& compiled, const GlobalMean& layer, const Tensor& source,
             const Layer* reader);
Tensor build(Workshop& shop, CompiledLayer& compiled, const Normalise& layer, const Tensor& source,
             const Layer* reader);
/// Of those that read several tensors.
Tensor build(Workshop& shop, CompiledLayer& compiled, const Add& layer, Tensors sources);
Tensor build(Workshop& shop, CompiledLayer& compiled, const Concat& layer, Tensors sources);

/// Row-major.
dnnl::memory::desc plain_layout(const dnnl::memory::dims& dims);

/// How many channels of a tensor (N, C, D, H, W) lie side by side, for kernels that walk its cells.
struct ChannelBlock {
  dnnl::memory::format_tag tag;  ///< ncdhw, nCdhw8c, nCdhw16c or ndhwc
  std::int64_t channels;         ///< 1, 8, 16 or C; 0 in any other layout
};
ChannelBlock channel_block(const dnnl::memory::desc& layout);

/// The same layout of values of another type.
dnnl::memory::desc with_type(dnnl::memory::desc layout, dnnl::memory::data_type type);
/// Whether tensors of these layouts are the same bytes.
bool same_bytes(const dnnl::memory::desc& a, const dnnl::memory::desc& b);

/// The elements of a tensor, for kernels that know their number.
template <class T>
T* data(const dnnl::memory& memory) {
  return static_cast<T*>(memory.get_data_handle());
}

/// The values of a tensor, padding included; T is float or core::Bfloat16.
template <class T = float>
std::span<T> values_of(const dnnl::memory& memory) {
  return {data<T>(memory), memory.get_desc().get_size() / sizeof(T)};
}
inline bool is_bf16(const dnnl::memory& memory) {
  return memory.get_desc().data_type() == dnnl::memory::data_type::bf16;
}

/// Appends the backward pass of the leaky ReLU that made `tensor`, in place on its gradient: × slope where
/// values are not positive.
void append_leaky_relu_backward(Workshop& shop, std::vector<Operation>& operations, const Tensor& tensor);

/// Appends total += part, tensors of one layout.
void append_sum(std::vector<Operation>& operations, const dnnl::memory& total, const dnnl::memory& part);

/// Appends what makes a tensor of `source` with `padding` cells of the opposite faces around it.
Tensor append_periodic_padding(Workshop& shop, std::vector<Operation>& operations, const Tensor& source,
                               int padding);
/// Appends the backward pass: the gradient of `source`, its leaky ReLU included, from that of `padded`.
void append_periodic_folding(Workshop& shop, std::vector<Operation>& operations, const Tensor& padded,
                             const Tensor& source, int padding);

/// Whether a tensor of this layout, made by a leaky ReLU of this slope, lives only until `reader` has run
/// forward.
bool is_transient(const Workshop& shop, const Layer* reader, const dnnl::memory::desc& layout, double slope);

/// Whether such a reader is an average pool that can keep signs instead of values.
bool can_keep_signs(const Layer& reader, const dnnl::memory::desc& layout, double slope);
/// Builds a pool over a transient tensor: forward it notes the values' signs, one byte each, and backward it
/// applies the leaky ReLU's slope in the same pass over memory.
Tensor build_sign_keeping_pool(Workshop& shop, CompiledLayer& compiled, const AveragePool& layer,
                               const Tensor& source, const dnnl::memory::desc& output);

}  // namespace cosmo::nn
