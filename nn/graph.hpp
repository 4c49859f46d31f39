#pragma once

#include <cstddef>
#include <vector>

#include "nn/network_spec.hpp"

namespace cosmo::nn {

/// Which layers read which outputs.
class Graph {
 public:
  /// A layer and the number of its input.
  struct Read {
    int layer;
    std::size_t input;

    bool operator==(const Read&) const = default;
  };

  explicit Graph(const NetworkSpec& spec)
      : spec_(spec), sources_(resolve_inputs(spec)), reads_(sources_.size() + 1) {
    for (int i = 0; i < static_cast<int>(sources_.size()); ++i) {
      for (std::size_t k = 0; k < sources(i).size(); ++k)
        reads_[static_cast<std::size_t>(sources(i)[k] + 1)].push_back({i, k});
    }
  }

  /// The sources that a layer reads: layers, or -1 for the network's input.
  const std::vector<int>& sources(int layer) const { return sources_[static_cast<std::size_t>(layer)]; }
  int source(const Read& read) const { return sources(read.layer)[read.input]; }
  /// Reads of a layer's output, or of the network's input (-1), in the order of the layers.
  const std::vector<Read>& reads(int source) const { return reads_[static_cast<std::size_t>(source + 1)]; }
  /// The last layer that reads a layer's output; for the network's output, one past the last layer.
  int last_reader(int layer) const {
    return reads(layer).empty() ? static_cast<int>(sources_.size()) : reads(layer).back().layer;
  }
  /// The only layer that reads a layer's output; nullptr if there are several or none.
  const Layer* only_reader(int layer) const {
    if (reads(layer).size() != 1) return nullptr;
    return &spec_.layers[static_cast<std::size_t>(reads(layer).front().layer)];
  }

 private:
  const NetworkSpec& spec_;
  std::vector<std::vector<int>> sources_;
  std::vector<std::vector<Read>> reads_;  ///< by source + 1
};

}  // namespace cosmo::nn
