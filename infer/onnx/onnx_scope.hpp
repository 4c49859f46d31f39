#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "infer/onnx/onnx_graph.hpp"

namespace cosmo::infer {

/// Appends the nodes and constants of one part of a graph, whose names it makes from the part's and a number. The graph
/// must outlive it.
class OnnxScope {
 public:
  OnnxScope(OnnxGraph& graph, std::string part) : graph_(&graph), part_(std::move(part)) {}

  /// Adds a node; returns its output's name.
  std::string node(std::string_view operation, const std::vector<std::string>& inputs,
                   const OnnxAttributes& attributes = {});
  /// Add constants, rounded to float32; return their names.
  std::string number(double value);
  std::string numbers(const std::vector<std::int64_t>& shape, std::span<const double> values);
  std::string integers(const std::vector<std::int64_t>& values);

  /// x with axes of one element at these places.
  std::string unsqueeze(const std::string& x, const std::vector<std::int64_t>& axes);
  /// x with `count` axes of one element after its own, of which there are `rank`.
  std::string deepen(const std::string& x, std::size_t rank, std::size_t count);
  std::string reshape(const std::string& x, const std::vector<std::int64_t>& shape);
  /// The elements first ... end - 1 along the last axis.
  std::string part(const std::string& x, std::int64_t first, std::int64_t end);
  /// The sum over an axis, which is left out.
  std::string sum(const std::string& x, std::int64_t axis);
  std::string concat(const std::vector<std::string>& parts, std::int64_t axis);
  /// x between -limit and limit.
  std::string clip(const std::string& x, double limit);

 private:
  std::string next(char separator) { return part_ + separator + std::to_string(++count_); }

  OnnxGraph* graph_;
  std::string part_;
  int count_ = 0;
};

}  // namespace cosmo::infer
