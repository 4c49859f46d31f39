#pragma once
// Private to nn: how layers of a specification become lists of oneDNN operations.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/bfloat16.hpp"
#include "nn/cut/cut_plan.hpp"
#include "nn/network.hpp"
#include "nn/network_spec.hpp"
#include "nn/tensor/memory_plan.hpp"
#include "nn/tensor/onednn.hpp"
#include "nn/tensor/parameter_arena.hpp"

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

/// Where a slab lies with a margin for the planes around it that its reader fetches.
struct Margin {
  int values, gradient;  ///< slots in which the slab and those planes lie one after another; no gradient: -1
};

/// The output of a layer, or the network's input.
struct Tensor {
  dnnl::memory values;
  /// Gradient of the loss with respect to the layer's result before its leaky ReLU; null if it is not needed.
  dnnl::memory gradient;
  double slope = 1;  ///< slope of the leaky ReLU that made it
  /// Whether it is already the result of the pool that reads it.
  bool pooled = false;
  int lane = -1;  ///< lane that holds it or its gradient; -1 for the network's input
  /// Whether the layer that reads it adds to the gradient, which another reader has written.
  bool adds = false;
  std::optional<Margin> margin = std::nullopt;
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

/// Memory of a normalisation; its parameters and means have shape (features).
struct NormalisationMemory {
  dnnl::memory values;        ///< its input (batch, features)
  dnnl::memory gradient;      ///< gradient of its input
  dnnl::memory normalised;    ///< its output
  dnnl::memory d_normalised;  ///< gradient of its output
  ParameterMemory mean;
  ParameterMemory deviation;
  dnnl::memory mean_gradient;    ///< mean over the global batch of the output's gradients
  dnnl::memory mean_projection;  ///< likewise of these gradients times the output
  std::shared_ptr<int> rows;     ///< number of rows that hold samples
};

/// What layers are built from: the engine and the memory plans.
class NetworkBuilder {
 public:
  /// For a rank's slab of the samples that it shares with others, or for whole samples (nullptr).
  NetworkBuilder(const dnnl::engine& engine, Mode mode, const Arithmetic& arithmetic, int batch,
                 const Share* share);

  Mode mode;
  Precision precision;
  FilteredPhases filtered;
  bool reproducible;  ///< as in Arithmetic
  int batch;
  dnnl::engine engine;
  MemoryPlan memory;
  ParameterArena parameters;
  NormalisationMemory normalisation;  ///< the network's, if it has one
  std::optional<Share> share;
  double exchanging = 0;        ///< [s] time spent in communication with the ranks that share the samples
  std::uint32_t droppable = 0;  ///< values per sample in the dropout layers so far, each rounded up to four

  /// Begins layer `index`, whose output is last read by layer `last_reader`, which fetches `before` planes before it
  /// (nothing: its readers need none).
  void begin_layer(int index, int last_reader, std::optional<int> before);
  /// Whether the current layer reads a slab of a tensor.
  bool reads_slab() const { return share && share->plan.reads_slab(layer_); }
  /// The padding of the current layer along D: a slab includes it.
  std::int64_t depth_padding(const Convolution& layer) const { return reads_slab() ? 0 : layer.padding; }
  /// Records that the current layer passes on its input, which lives in `lane`, as its output.
  void keep_for_readers(int lane);
  /// A tensor of the layer. In training its values have their own slot, and its gradient shares a slot with
  /// those whose readers are all done; in inference the values share slots in this way.
  Tensor next_tensor(const dnnl::memory::desc& layout, double slope);
  /// A tensor, and its gradient, used only within the layer.
  Tensor inner_tensor(const dnnl::memory::desc& layout);
  /// A part of a gradient, kept until this layer's backward pass is over.
  dnnl::memory gradient_part(const dnnl::memory::desc& layout);
  /// The network's input, which has no gradient and whose data the caller of the network provides.
  Tensor input_tensor(const dnnl::memory::desc& layout);
  /// A copy of the input in another layout, with its own slot and without a gradient.
  Tensor copied_input(const dnnl::memory::desc& layout);
  /// `source` in `layout`: itself or a view of it if it already has that layout, otherwise a copy, made by an
  /// operation added to `operations`. Temporary copies share one slot: only the operation that follows may
  /// use them.
  dnnl::memory reordered(std::vector<Operation>& operations, const dnnl::memory& source,
                         const dnnl::memory::desc& layout, bool temporary);
  /// A tensor in the slot that temporary copies share: only one operation may use it, and only the operation
  /// right before that may fill it.
  dnnl::memory temporary(const dnnl::memory::desc& layout);
  /// Adds a parameter to the layer.
  ParameterMemory add_parameter(CompiledLayer& layer, Parameter parameter, const dnnl::memory::desc& layout);
  /// Appends a copy of `source` into `target`'s layout.
  void append_reorder(std::vector<Operation>& operations, const dnnl::memory& source,
                      const dnnl::memory& target);
  /// Appends a oneDNN primitive with its scratch space.
  void append(std::vector<Operation>& operations, const dnnl::primitive_desc_base& description,
              std::unordered_map<int, dnnl::memory> arguments);
  /// Attributes of every primitive: scratch space from the plan and, unless slope is 1, a leaky ReLU on the
  /// result.
  dnnl::primitive_attr attributes(double slope) const;
  dnnl::prop_kind forward_kind() const;
  /// Whether a phase of a convolution is to be filtered.
  bool filters(const CompiledLayer& layer, Phase phase) const;

 private:
  /// A slot that tensors use one after the other, in the order of the layers.
  struct Lane {
    int slot;
    int busy_until;  ///< last layer that needs its contents
  };
  /// [bytes] Where the current layer's output lies in its slot, if there is to be a margin and its planes would be next to
  /// it.
  std::optional<std::size_t> offset(const dnnl::memory::desc& layout) const;
  /// Takes a lane that is free from this layer on and keeps it until layer `last`.
  int take_lane(int last);

  int scratch_slot_;
  int temporary_slot_;
  std::vector<Lane> lanes_;
  int layer_ = 0;
  int last_reader_ = 0;
  std::optional<int> before_;
};

using Tensors = std::span<const Tensor>;

/// Builds a layer. `reader` is the one layer that reads its output, or nullptr if there are several or none.
Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const Convolution& layer, const Tensor& source,
             const Layer* reader);
Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const TransposedConvolution& layer,
             const Tensor& source, const Layer* reader);
Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const Resample& layer, const Tensor& source,
             const Layer* reader);
Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const AveragePool& layer, const Tensor& source,
             const Layer* reader);
Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const MaxPool& layer, const Tensor& source,
             const Layer* reader);
Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const Dense& layer, const Tensor& source,
             const Layer* reader);
Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const Dropout& layer, const Tensor& source,
             const Layer* reader);
Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const Tanh& layer, const Tensor& source,
             const Layer* reader);
Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const GlobalMean& layer, const Tensor& source,
             const Layer* reader);
Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const Normalise& layer, const Tensor& source,
             const Layer* reader);
/// Builds a layer that reads several tensors.
Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const Add& layer, Tensors sources);
Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const Concat& layer, Tensors sources);

/// The row-major layout.
dnnl::memory::desc plain_layout(const dnnl::memory::dims& dims,
                                dnnl::memory::data_type type = dnnl::memory::data_type::f32);

/// Number of channels of a tensor (N, C, D, H, W) that lie side by side, for kernels that walk its cells.
struct ChannelBlock {
  dnnl::memory::format_tag tag;  ///< ncdhw, nCdhw8c, nCdhw16c or ndhwc
  std::int64_t channels;         ///< 1, 8, 16 or C; 0 in any other layout
};
ChannelBlock channel_block(const dnnl::memory::desc& layout);

/// The same layout, f32 or one with a channel block, with values of another type.
dnnl::memory::desc with_type(const dnnl::memory::desc& layout, dnnl::memory::data_type type);
/// Whether tensors of these layouts have identical bytes.
bool same_bytes(const dnnl::memory::desc& a, const dnnl::memory::desc& b);

/// Pointer to the elements of a tensor, for kernels that compute their number themselves.
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
  return type_of(memory.get_desc()) == dnnl::memory::data_type::bf16;
}

/// Appends the backward pass of the leaky ReLU that made `tensor`, in place on its gradient: × slope where
/// values are not positive.
void append_leaky_relu_backward(NetworkBuilder& builder, std::vector<Operation>& operations,
                                const Tensor& tensor);

/// Whether a layer can add to its input's gradient instead of writing it.
bool can_add_gradient(const Layer& layer, const dnnl::memory::desc& source);

/// Appends total += part, tensors of one layout.
void append_sum(std::vector<Operation>& operations, const dnnl::memory& total, const dnnl::memory& part);

/// Appends an operation that fetches the planes of `source` that the current layer sees, and returns these.
Tensor append_fetch(NetworkBuilder& builder, std::vector<Operation>& operations, const Tensor& source,
                    const Fetch& fetch);
/// Appends its backward pass: the gradient of `source`, including its leaky ReLU, from that of what the ranks saw.
void append_give_back(NetworkBuilder& builder, std::vector<Operation>& operations, const Tensor& seen,
                      const Tensor& source, const Fetch& fetch);
/// Appends an operation that replaces values by their sums over all slabs of the samples, in the ranks' order.
void append_sum_over_slabs(NetworkBuilder& builder, std::vector<Operation>& operations,
                           const dnnl::memory& values);

/// Cells added at both ends of D, and of H and W.
struct Padding {
  std::int64_t depth, side;
};
/// Appends an operation that makes a tensor of `source` surrounded by cells of the opposite faces.
Tensor append_periodic_padding(NetworkBuilder& builder, std::vector<Operation>& operations,
                               const Tensor& source, const Padding& padding);
/// Appends its backward pass: the gradient of `source`, including its leaky ReLU, from that of `padded`.
void append_periodic_folding(NetworkBuilder& builder, std::vector<Operation>& operations,
                             const Tensor& padded, const Tensor& source, const Padding& padding);

/// Whether an average pool has passes of our own: in training, of windows side by side after a leaky ReLU.
bool averages_in_blocks(const NetworkBuilder& builder, const AveragePool& layer, const Tensor& source);
/// Builds it with them: they apply the leaky ReLU's backward pass, too, and trainings have the bits of their sums.
Tensor build_average_in_blocks(NetworkBuilder& builder, CompiledLayer& compiled, const AveragePool& layer,
                               const Tensor& source, const dnnl::memory::desc& output);

}  // namespace cosmo::nn
