#include "infer/onnx/onnx_scope.hpp"

#include <numeric>

namespace cosmo::infer {

std::string OnnxScope::node(std::string_view operation, const std::vector<std::string>& inputs,
                            const OnnxAttributes& attributes) {
  return graph_->node(operation, inputs, next('/'), attributes);
}

std::string OnnxScope::number(double value) { return graph_->constant(next('.'), value); }

std::string OnnxScope::numbers(const std::vector<std::int64_t>& shape, std::span<const double> values) {
  std::vector<float> single;
  for (const double value : values) single.push_back(static_cast<float>(value));
  return graph_->constant(next('.'), shape, single);
}

std::string OnnxScope::integers(const std::vector<std::int64_t>& values) {
  return graph_->integers(next('.'), values);
}

std::string OnnxScope::unsqueeze(const std::string& x, const std::vector<std::int64_t>& axes) {
  return axes.empty() ? x : node("Unsqueeze", {x, integers(axes)});
}

std::string OnnxScope::deepen(const std::string& x, std::size_t rank, std::size_t count) {
  std::vector<std::int64_t> axes(count);
  std::iota(axes.begin(), axes.end(), static_cast<std::int64_t>(rank));
  return unsqueeze(x, axes);
}

std::string OnnxScope::reshape(const std::string& x, const std::vector<std::int64_t>& shape) {
  return node("Reshape", {x, integers(shape)});
}

std::string OnnxScope::part(const std::string& x, std::int64_t first, std::int64_t end) {
  return node("Slice", {x, integers({first}), integers({end}), integers({-1})});
}

std::string OnnxScope::sum(const std::string& x, std::int64_t axis) {
  return node("ReduceSum", {x, integers({axis})}, OnnxAttributes().add("keepdims", std::int64_t{0}));
}

std::string OnnxScope::concat(const std::vector<std::string>& parts, std::int64_t axis) {
  return parts.size() == 1 ? parts.front() : node("Concat", parts, OnnxAttributes().add("axis", axis));
}

std::string OnnxScope::clip(const std::string& x, double limit) {
  return node("Clip", {x, number(-limit), number(limit)});
}

}  // namespace cosmo::infer
