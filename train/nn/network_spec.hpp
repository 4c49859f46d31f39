#pragma once
// A network as data: a graph of layers that name their inputs, with a JSON form that model files carry.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>
#include <vector>

namespace cosmo::nn {

/// A 3-D convolution (cross-correlation) with bias, kernel³ cells, followed by a leaky ReLU.
struct Convolution {
  int outputs;       ///< channels of its output
  int kernel;        ///< cells along each side
  int stride = 1;    ///< cells
  int padding = 0;   ///< zero cells added on every face
  double slope = 1;  ///< of the leaky ReLU for negative values; 1 makes the layer linear

  bool operator==(const Convolution&) const = default;
};

/// The average over size³ cells; incomplete windows at the far faces are dropped.
struct AveragePool {
  int size;    ///< cells along each side
  int stride;  ///< cells

  bool operator==(const AveragePool&) const = default;
};

/// A fully connected layer with bias over all channels and cells of its input, followed by a leaky ReLU.
struct Dense {
  int outputs;       ///< 0 in the last layer: as many as the data set has targets
  double slope = 1;  ///< of the leaky ReLU for negative values; 1 makes the layer linear

  bool operator==(const Dense&) const = default;
};

/// A node of the graph. `inputs` name the network's input or earlier layers.
struct Layer {
  std::string name;
  std::vector<std::string> inputs;
  std::variant<Convolution, AveragePool, Dense> kind;

  bool operator==(const Layer&) const = default;
};

/// A network without its sizes: input channels, cells and outputs come from the data set.
/// The layers stand in an order in which they can be computed; the last one is the output.
struct NetworkSpec {
  std::string name;
  std::string input;  ///< what layers call the network's input
  std::vector<Layer> layers;

  bool operator==(const NetworkSpec&) const = default;
};

/// The graph with its names resolved: for each layer the index of the layer it reads, or -1 for the network's
/// input. Throws Error{config} if a layer names what does not stand before it, does not take exactly one
/// input, shares its input with another layer (not supported yet), is never read, or if the last layer is not
/// dense.
std::vector<int> resolve_inputs(const NetworkSpec& spec);

/// `spec` with the outputs of its last layer set. Throws Error{config} if they are set to another number
/// already.
NetworkSpec with_outputs(NetworkSpec spec, int outputs);

/// JSON form: {"name", "input", "layers": [{"name", "inputs", "kind", then the kind's members}]}.
void to_json(nlohmann::json& json, const NetworkSpec& spec);
/// Throws Error{format} on missing, unknown or mistyped members.
void from_json(const nlohmann::json& json, NetworkSpec& spec);

}  // namespace cosmo::nn
