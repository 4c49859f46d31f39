#pragma once
// A network that runs: forward, backward, and its parameters in flat arenas. The backend (oneDNN) stays
// inside.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "train/nn/census.hpp"
#include "train/nn/network_spec.hpp"
#include "train/nn/parameter.hpp"
#include "train/nn/precision.hpp"

namespace cosmo::nn {

enum class Mode { training, inference };

/// Which values a forward pass drops: a pure function of these three, not of ranks, batches or threads.
struct DropoutDraw {
  std::uint64_t seed;
  std::int64_t step;  ///< of the optimizer
  std::span<const std::uint32_t>
      samples;  ///< numbers of the samples in the batch's first rows; the rest pad it
};

enum class Phase { forward, weight_gradient, input_gradient };
enum class Work { convolution, dense, other, reorder };

/// One operation of a network.
struct OperationRecord {
  std::string layer;
  Phase phase;
  Work work;
  std::string implementation;  ///< as oneDNN calls it, or a kernel of ours
  double seconds;              ///< spent in it while operations were timed
};

/// What a network's normalisation reads and makes, for who computes statistics over the global batch; spans
/// are empty if there is none, those of gradients in inference. F is the number of normalised values.
struct Normalisation {
  std::span<float> values;           ///< (batch, F) what it normalises, which a trunk made
  std::span<float> mean, deviation;  ///< (F) by which: parameters
  std::span<float> normalised;       ///< (batch, F) what it made of the values
  std::span<float> d_normalised;     ///< (batch, F) the loss' gradient with respect to that
  std::span<float> mean_gradient;    ///< (F) mean of d_normalised over the global batch
  std::span<float> mean_projection;  ///< (F) likewise of d_normalised × normalised
  int* rows;                         ///< of the batch that hold samples; others get no gradient
};

/// A network for batches of one size. All primitives and tensors are made by the constructor; the weights
/// start as zeros (see initialise.hpp). Inference is in f32. Spans stay valid as long as the network, also
/// when it is moved.
class Network {
 public:
  /// Throws Error{config} if the network is ill-formed or does not fit the input, Error{internal} if oneDNN
  /// has no implementation, std::bad_alloc.
  Network(const NetworkSpec& spec, Shape input, int outputs, int batch, Mode mode,
          Precision precision = Precision::f32);
  ~Network();
  Network(Network&&) noexcept;
  Network& operator=(Network&&) noexcept;

  /// (batch, channels, size, size, size), for the caller to write.
  std::span<float> input();
  /// (batch, outputs) of what stands in input(), valid until the next call. Dropout layers drop values only
  /// in training and if given a draw.
  std::span<const float> forward(const std::optional<DropoutDraw>& dropout = std::nullopt);
  /// From the gradient of the loss with respect to the last forward()'s result, (batch, outputs), computes
  /// those with respect to all parameters. Calls ready with each layer's part of gradients() as soon as it is
  /// final, last layer first. Training only.
  void backward(std::span<const float> d_output, const std::function<void(std::span<float>)>& ready);

  /// Whether a layer normalises. forward() and backward() then take mean and deviation for constants. For
  /// statistics of a global batch that several calls or ranks share, a step goes in two parts: the trunk, up
  /// to the normalisation's input, and the head, the normalisation and what follows. Between the calls the
  /// caller sets what normalisation() shows: after forward_trunk() mean and deviation, after backward_head()
  /// mean_gradient, mean_projection and rows. Without a normalisation the head is all there is.
  bool normalises() const;
  Normalisation normalisation();
  void forward_trunk(const std::optional<DropoutDraw>& dropout = std::nullopt);
  std::span<const float> forward_head(const std::optional<DropoutDraw>& dropout = std::nullopt);
  void backward_head(std::span<const float> d_output, const std::function<void(std::span<float>)>& ready);
  void backward_trunk(const std::function<void(std::span<float>)>& ready);

  /// Weights and biases of each layer, or mean and deviation, in the order of the layers.
  std::span<const Parameter> parameters() const;
  /// The arena of all parameters, in their layouts, with zeros between and within them as padding.
  std::span<float> weights();
  /// The gradients in the same layout; empty in inference.
  std::span<float> gradients();

  /// Writes `values`, laid out as the parameter's spans are (a gradient or an optimizer's moment will do),
  /// into `plain` (parameter.dims, row-major), bit by bit.
  void copy_to_plain(const Parameter& parameter, std::span<const float> values, std::span<float> plain) const;
  /// The reverse; the padding of `values` becomes zero.
  void copy_from_plain(const Parameter& parameter, std::span<const float> plain,
                       std::span<float> values) const;

  const NetworkCensus& census() const;
  int batch() const;
  int outputs() const;
  /// All operations, layer by layer.
  std::vector<OperationRecord> operations() const;
  /// Begins to add up the time of each operation, from zero, or ends it.
  void time_operations(bool on);
  /// [bytes] All tensors, parameters and scratch space.
  std::size_t memory_bytes() const;
  /// memory_bytes() of such a network, without allocating it. Throws as the constructor.
  static std::size_t planned_bytes(const NetworkSpec& spec, Shape input, int outputs, int batch, Mode mode,
                                   Precision precision = Precision::f32);

 private:
  void begin_backward(std::span<const float> d_output);

  struct Backend;
  std::unique_ptr<Backend> backend_;
};

/// The backend's name and version, for --version.
std::string library_version();

}  // namespace cosmo::nn
