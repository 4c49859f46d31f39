#pragma once
// A network that runs: forward, backward, and its parameters in flat arenas. The backend (oneDNN) is hidden
// inside.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nn/arithmetic.hpp"
#include "nn/census.hpp"
#include "nn/network_spec.hpp"
#include "nn/parameter.hpp"

namespace cosmo::nn {

enum class Mode { training, inference };

struct Share;  // nn/cut/cut_plan.hpp

/// Which values a forward pass drops: a pure function of these three, not of ranks, batches or threads.
struct DropoutDraw {
  std::uint64_t seed;
  std::int64_t step;  ///< number of the optimizer step
  std::span<const std::uint32_t>
      samples;  ///< numbers of the samples in the batch's first rows; the other rows are padding
};

enum class OperationKind { convolution, dense, other, reorder, exchange };

/// One operation of a network.
struct OperationRecord {
  std::string layer;
  Phase phase;
  OperationKind kind;
  std::string implementation;  ///< oneDNN's name for it, or a kernel of our own
  double seconds;              ///< time spent in it while operations were timed
};

/// Inputs and results of a network's normalisation, for callers that compute statistics over the global
/// batch. All spans are empty if there is none; those of gradients are empty in inference. F is the number of
/// normalised values.
struct Normalisation {
  std::span<float> values;           ///< (batch, F) values to normalise, made by the trunk
  std::span<float> mean, deviation;  ///< (F) statistics that it applies: parameters
  std::span<float> normalised;       ///< (batch, F) the normalised values
  std::span<float> d_normalised;     ///< (batch, F) gradient of the loss with respect to them
  std::span<float> mean_gradient;    ///< (F) mean of d_normalised over the global batch
  std::span<float> mean_projection;  ///< (F) likewise for d_normalised × normalised
  int* rows;                         ///< number of rows that hold samples; others get no gradient
};

/// A network for batches of one size. The constructor makes all primitives and tensors; the weights start as
/// zeros (see initialise.hpp). Inference is in f32. Spans stay valid as long as the network, also when it is
/// moved.
class Network {
 public:
  /// With a share, the ranks of its group compute each sample together: all calls are collective over the group, each
  /// rank reads its planes of the input (CutPlan::input) and has all outputs, or its planes of a field (CutPlan::output),
  /// and the gradients are to be summed over the ranks. Throws Error{config} if the network is ill-formed or does not fit the input, Error{internal} if oneDNN
  /// has no implementation, std::bad_alloc.
  Network(const NetworkSpec& spec, Shape input, int outputs, int batch, Mode mode,
          const Arithmetic& arithmetic = {}, const Share* share = nullptr);
  ~Network();
  Network(Network&&) noexcept;
  Network& operator=(Network&&) noexcept;

  /// Makes the next passes read `voxels` (batch, channels, planes, size, size) in place: they must stay as they are until
  /// backward() is done.
  void set_input(std::span<const float> voxels);
  /// Number of values of an input.
  std::size_t input_values() const;
  /// An input of the network's own, for the caller to write; allocated, as zeros, when it is first asked for.
  std::span<float> input();
  /// Returns the outputs (batch, outputs) for the input, valid until the next call. Dropout
  /// layers drop values only in training and if a draw is given.
  std::span<const float> forward(const std::optional<DropoutDraw>& dropout = std::nullopt);
  /// The features (batch, F) of the last forward(): the vector that the last dense layer reads. Empty if the network has
  /// no such layer, or it reads a grid. Valid until the next call.
  std::span<const float> features() const;
  /// Computes the gradients of the loss with respect to all parameters from the gradient with respect to the
  /// result of the last forward(), (batch, outputs). Calls ready with each layer's part of gradients() as
  /// soon as it is final, last layer first. Training only.
  void backward(std::span<const float> d_output, const std::function<void(std::span<float>)>& ready);

  /// Whether a layer normalises. forward() and backward() then treat mean and deviation as constants. To use
  /// statistics of a global batch that several calls or ranks share, a step runs in two parts: the trunk, up
  /// to the normalisation's input, and the head, the normalisation and what follows it. Between the calls the
  /// caller fills in the spans of normalisation(): after forward_trunk() mean and deviation, after
  /// backward_head() mean_gradient, mean_projection and rows. Without a normalisation the head is the whole
  /// network.
  bool normalises() const;
  Normalisation normalisation();
  void forward_trunk(const std::optional<DropoutDraw>& dropout = std::nullopt);
  std::span<const float> forward_head(const std::optional<DropoutDraw>& dropout = std::nullopt);
  void backward_head(std::span<const float> d_output, const std::function<void(std::span<float>)>& ready);
  void backward_trunk(const std::function<void(std::span<float>)>& ready);

  /// Weights and biases (or mean and deviation) of each layer, in the order of the layers.
  std::span<const Parameter> parameters() const;
  /// The arena of all parameters in their layouts, padded with zeros between and within them.
  std::span<float> weights();
  /// The gradients in the same layout; empty in inference.
  std::span<float> gradients();

  /// Copies `values`, laid out like the parameter's spans (also a gradient or an optimizer's moment), into
  /// `plain` (parameter.dims, row-major), bit for bit.
  void copy_to_plain(const Parameter& parameter, std::span<const float> values, std::span<float> plain) const;
  /// The reverse of copy_to_plain(); the padding of `values` becomes zero.
  void copy_from_plain(const Parameter& parameter, std::span<const float> plain,
                       std::span<float> values) const;

  const NetworkCensus& census() const;
  int batch() const;
  /// Numbers that this rank has of a sample's outputs.
  int outputs() const;
  /// Whether these are planes of a field that ranks share.
  bool cuts_output() const;
  /// All operations, layer by layer.
  std::vector<OperationRecord> operations() const;
  /// Starts adding up the time of each operation, from zero, or stops it.
  void time_operations(bool on);
  /// [s] Time spent in communication with the ranks that share the samples, since the start.
  double exchanging() const;
  /// [bytes] All tensors, parameters and scratch space.
  std::size_t memory_bytes() const;
  /// [bytes] memory_bytes() of a network with these arguments, without allocating it. Throws like the
  /// constructor.
  static std::size_t planned_bytes(const NetworkSpec& spec, Shape input, int outputs, int batch, Mode mode,
                                   const Arithmetic& arithmetic = {}, const Share* share = nullptr);

 private:
  void begin_backward(std::span<const float> d_output);

  struct Backend;
  std::unique_ptr<Backend> backend_;
};

/// The phases that are filtered.
FilteredPhases filtered_phases(std::span<const OperationRecord> operations);

/// The backend's name and version, for --version.
std::string library_version();

}  // namespace cosmo::nn
