#pragma once
// A network as data: a graph of layers that name their inputs, with a JSON form for model files.

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>
#include <vector>

#include "core/named.hpp"

namespace cosmo::nn {

/// A 3-D convolution (cross-correlation) with bias, kernel³ cells, followed by a leaky ReLU.
struct Convolution {
  int outputs;       ///< channels of its output; 0 in the last layer: those of the field that is predicted
  int kernel;        ///< cells along each side
  int stride = 1;    ///< cells
  int padding = 0;   ///< cells added on every face
  double slope = 1;  ///< slope of the leaky ReLU for negative values; 1 makes the layer linear
  /// Whether the padding repeats the cells of the opposite face, as in a periodic box, or is zeros.
  bool periodic = false;

  bool operator==(const Convolution&) const = default;
};

/// The transpose of a 3-D convolution, with bias, followed by a leaky ReLU: each input cell adds its value
/// times a kernel of kernel³ cells to the output, `stride` cells after its predecessor's, and `padding` cells
/// are cut off on every face. It turns n cells per side into (n - 1) stride + kernel - 2 padding.
struct TransposedConvolution {
  int outputs;       ///< channels of its output
  int kernel;        ///< cells along each side
  int stride = 1;    ///< output cells
  int padding = 0;   ///< output cells cut off on every face
  double slope = 1;  ///< slope of the leaky ReLU for negative values; 1 makes the layer linear

  bool operator==(const TransposedConvolution&) const = default;
};

/// How Resample interpolates between the centres of cells.
enum class Interpolation {
  nearest,  ///< the cell's value
  linear,   ///< trilinear; beyond the centres at the faces, the value there
  periodic  ///< trilinear, with the opposite faces next to each other, as in a periodic box
};

inline constexpr std::array<core::Named<Interpolation>, 3> kInterpolations = {
    {{"nearest", Interpolation::nearest},
     {"linear", Interpolation::linear},
     {"periodic", Interpolation::periodic}}};

/// Replaces each cell by factor³ cells.
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
  int outputs;       ///< 0 in the last layer: the number of the data set's targets
  double slope = 1;  ///< slope of the leaky ReLU for negative values; 1 makes the layer linear

  bool operator==(const Dense&) const = default;
};

/// In training, zeroes each value with this probability and divides the others by 1 - probability, which
/// preserves the mean; otherwise leaves all values unchanged. Source: Srivastava et al. 2014 (JMLR 15, 1929),
/// in the inverted form.
struct Dropout {
  double probability;

  bool operator==(const Dropout&) const = default;
};

/// Maps each value x to scale × tanh(x).
struct Tanh {
  double scale;

  bool operator==(const Tanh&) const = default;
};

/// The sum of two or more tensors of the same shape, followed by a leaky ReLU.
struct Add {
  double slope = 1;  ///< slope of the leaky ReLU for negative values; 1 makes the layer linear

  bool operator==(const Add&) const = default;
};

/// Concatenates the channels of two or more tensors of the same size, in the order of the inputs.
struct Concat {
  bool operator==(const Concat&) const = default;
};

/// The vector of each channel's mean over all cells; with `squares`, followed by the means of the squared
/// values.
struct GlobalMean {
  bool squares = false;

  bool operator==(const GlobalMean&) const = default;
};

/// (x - mean) / deviation of each value of a vector, with the statistics of the samples of the global batch
/// in training, otherwise those measured last on training samples. It divides the network into two parts: the
/// layers after it read nothing of the part before it except this layer's output. Source: Ioffe & Szegedy
/// 2015 (arXiv:1502.03167), without their scale and shift, which the dense layer that follows contains.
struct Normalise {
  bool operator==(const Normalise&) const = default;
};

/// A node of the graph. `inputs` names the network's input or earlier layers.
struct Layer {
  using Kind = std::variant<Convolution, TransposedConvolution, Resample, AveragePool, MaxPool, Dense,
                            Dropout, Tanh, Add, Concat, GlobalMean, Normalise>;

  std::string name;
  std::vector<std::string> inputs;
  Kind kind;

  bool operator==(const Layer&) const = default;
};

/// A network without its sizes: input channels, cells and outputs come from the data set.
/// The layers are in an order in which they can be computed; the last one is the output.
struct NetworkSpec {
  std::string name;
  std::string input;  ///< name by which layers refer to the network's input
  std::vector<Layer> layers;
  /// The baseline that the outputs are mixed with: "summary_statistics", the labels predicted by a regression
  /// on a sample's summary statistics; empty: none.
  std::string baseline = {};

  bool operator==(const NetworkSpec&) const = default;
};

/// The graph with its names resolved: for each layer the indices of the layers it reads, -1 for the network's
/// input. Throws Error{config} if a layer names something that does not precede it, has too many or too few
/// inputs for its kind or is never read, if the last layer (apart from a tanh) is neither dense nor a convolution, or if
/// layers bypass the normalisation.
std::vector<std::vector<int>> resolve_inputs(const NetworkSpec& spec);

/// Index of the normalisation, or -1 if there is none. Throws Error{config} if there are several.
int find_normalisation(const NetworkSpec& spec);

/// Returns `spec` with the number of outputs, or channels, of its last layer set. Throws Error{config} if it is already set
/// to another number.
NetworkSpec with_outputs(NetworkSpec spec, int outputs);

/// Returns `spec` with the probability of its dropout layers set. Throws Error{config} if it is not 0 and
/// `spec` has no such layers.
NetworkSpec with_dropout(NetworkSpec spec, double probability);

/// The one non-empty value of NetworkSpec::baseline.
inline constexpr const char* kSummaryStatistics = "summary_statistics";

/// JSON form: {"name", "input", "layers": [{"name", "inputs", "kind", then the kind's members}]}, and
/// "baseline" if there is one.
void to_json(nlohmann::json& json, const NetworkSpec& spec);
/// Throws Error{format} on missing, unknown or mistyped members.
void from_json(const nlohmann::json& json, NetworkSpec& spec);

}  // namespace cosmo::nn
