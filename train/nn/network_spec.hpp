#pragma once
// A network as data: a graph of layers that name their inputs, with a JSON form that model files carry.

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>
#include <vector>

#include "core/named.hpp"

namespace cosmo::nn {

/// A 3-D convolution (cross-correlation) with bias, kernel³ cells, followed by a leaky ReLU.
struct Convolution {
  int outputs;       ///< channels of its output
  int kernel;        ///< cells along each side
  int stride = 1;    ///< cells
  int padding = 0;   ///< cells added on every face
  double slope = 1;  ///< of the leaky ReLU for negative values; 1 makes the layer linear
  /// Whether the cells added are those of the opposite face, as in a periodic box, or zeros.
  bool periodic = false;

  bool operator==(const Convolution&) const = default;
};

/// The transpose of a 3-D convolution, with bias, followed by a leaky ReLU: each cell of the input adds its
/// value times a kernel of kernel³ cells to the output, `stride` cells further on for the next one, and
/// `padding` cells are cut off on every face. Of n cells a side it makes (n - 1) stride + kernel - 2 padding.
struct TransposedConvolution {
  int outputs;       ///< channels of its output
  int kernel;        ///< cells along each side
  int stride = 1;    ///< cells of the output
  int padding = 0;   ///< cells of the output
  double slope = 1;  ///< of the leaky ReLU for negative values; 1 makes the layer linear

  bool operator==(const TransposedConvolution&) const = default;
};

/// What Resample puts between the centres of cells.
enum class Interpolation {
  nearest,  ///< the cell's value
  linear,   ///< trilinear; beyond the centres at the faces the value there
  periodic  ///< trilinear, with the opposite faces next to each other, as in a periodic box
};

inline constexpr std::array<core::Named<Interpolation>, 3> kInterpolations = {
    {{"nearest", Interpolation::nearest},
     {"linear", Interpolation::linear},
     {"periodic", Interpolation::periodic}}};

/// factor³ cells in place of each.
struct Resample {
  int factor;
  Interpolation interpolation = Interpolation::nearest;

  bool operator==(const Resample&) const = default;
};

/// The average over size³ cells; incomplete windows at the far faces are dropped.
struct AveragePool {
  int size;    ///< cells along each side
  int stride;  ///< cells

  bool operator==(const AveragePool&) const = default;
};

/// The maximum over size³ cells; incomplete windows at the far faces are dropped.
struct MaxPool {
  int size;    ///< cells along each side
  int stride;  ///< cells

  bool operator==(const MaxPool&) const = default;
};

/// A fully connected layer with bias over all channels and cells of its input, followed by a leaky ReLU.
struct Dense {
  int outputs;       ///< 0 in the last layer: as many as the data set has targets
  double slope = 1;  ///< of the leaky ReLU for negative values; 1 makes the layer linear

  bool operator==(const Dense&) const = default;
};

/// In training, zeroes each value with this probability and divides the others by 1 - probability, so that
/// the mean stays; otherwise leaves them. Source: Srivastava et al. 2014 (JMLR 15, 1929), in the inverted
/// form.
struct Dropout {
  double probability;

  bool operator==(const Dropout&) const = default;
};

/// scale × tanh(x) of each value.
struct Tanh {
  double scale;

  bool operator==(const Tanh&) const = default;
};

/// The sum of two or more tensors of one shape, followed by a leaky ReLU.
struct Add {
  double slope = 1;  ///< of the leaky ReLU for negative values; 1 makes the layer linear

  bool operator==(const Add&) const = default;
};

/// The channels of two or more tensors of one size, in the order of the inputs.
struct Concat {
  bool operator==(const Concat&) const = default;
};

/// The mean of each channel over all cells, a vector; with `squares`, those of the squared values behind
/// them.
struct GlobalMean {
  bool squares = false;

  bool operator==(const GlobalMean&) const = default;
};

/// (x - mean) / deviation of each value of a vector: in training over the samples of the global batch,
/// otherwise over training samples that were measured last. What precedes it and what follows are the two
/// parts of the network: the latter reads nothing of the former but this layer's output. Source: Ioffe &
/// Szegedy 2015 (arXiv:1502.03167), without their scale and shift, which the dense layer that follows
/// contains.
struct Normalise {
  bool operator==(const Normalise&) const = default;
};

/// A node of the graph. `inputs` name the network's input or earlier layers.
struct Layer {
  using Kind = std::variant<Convolution, TransposedConvolution, Resample, AveragePool, MaxPool, Dense,
                            Dropout, Tanh, Add, Concat, GlobalMean, Normalise>;

  std::string name;
  std::vector<std::string> inputs;
  Kind kind;

  bool operator==(const Layer&) const = default;
};

/// A network without its sizes: input channels, cells and outputs come from the data set.
/// The layers stand in an order in which they can be computed; the last one is the output.
struct NetworkSpec {
  std::string name;
  std::string input;  ///< what layers call the network's input
  std::vector<Layer> layers;
  /// What its outputs are mixed with: "summary_statistics", the labels that a regression on a sample's
  /// summary statistics says; empty: nothing.
  std::string baseline = {};

  bool operator==(const NetworkSpec&) const = default;
};

/// The graph with its names resolved: for each layer the indices of the layers it reads, -1 for the network's
/// input. Throws Error{config} if a layer names what does not stand before it, has too many or too few inputs
/// for its kind or is never read, if the last layer, a tanh aside, is not dense, or if layers read around the
/// normalisation.
std::vector<std::vector<int>> resolve_inputs(const NetworkSpec& spec);

/// The index of the normalisation, or -1 if there is none. Throws Error{config} if there are several.
int find_normalisation(const NetworkSpec& spec);

/// `spec` with the outputs of its last dense layer set. Throws Error{config} if they are set to another
/// number already.
NetworkSpec with_outputs(NetworkSpec spec, int outputs);

/// `spec` with the probability of its dropout layers set. Throws Error{config} if it is not 0 and there are
/// none.
NetworkSpec with_dropout(NetworkSpec spec, double probability);

/// What NetworkSpec::baseline can be.
inline constexpr const char* kSummaryStatistics = "summary_statistics";

/// JSON form: {"name", "input", "layers": [{"name", "inputs", "kind", then the kind's members}]}, and
/// "baseline" if there is one.
void to_json(nlohmann::json& json, const NetworkSpec& spec);
/// Throws Error{format} on missing, unknown or mistyped members.
void from_json(const nlohmann::json& json, NetworkSpec& spec);

}  // namespace cosmo::nn
