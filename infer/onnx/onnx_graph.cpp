#include "infer/onnx/onnx_graph.hpp"

#include <bit>

namespace cosmo::infer {

using core::ProtobufMessage;

namespace {

static_assert(std::endian::native == std::endian::little);  // as raw_data is

constexpr int kIrVersion = 7, kOperatorSet = 13;
constexpr int kFloat = 1, kInt64 = 7;  // TensorProto.DataType

ProtobufMessage attribute(std::string_view name, int type) {  // AttributeProto
  return ProtobufMessage().add(1, name).add(20, std::int64_t{type});
}

/// ValueInfoProto of a tensor (N, shape...).
ProtobufMessage value_info(std::string_view name, const std::vector<std::int64_t>& shape) {
  ProtobufMessage dims;
  dims.add(1, ProtobufMessage().add(2, "N"));
  for (const std::int64_t size : shape) dims.add(1, ProtobufMessage().add(1, size));
  const ProtobufMessage tensor = ProtobufMessage().add(1, std::int64_t{kFloat}).add(2, dims);
  return ProtobufMessage().add(1, name).add(2, ProtobufMessage().add(1, tensor));
}

}  // namespace

OnnxAttributes& OnnxAttributes::add(std::string_view name, std::int64_t value) {
  messages_.push_back(attribute(name, 2).add(3, value));
  return *this;
}

OnnxAttributes& OnnxAttributes::add(std::string_view name, float value) {
  messages_.push_back(attribute(name, 1).add(2, value));
  return *this;
}

OnnxAttributes& OnnxAttributes::add(std::string_view name, const std::vector<std::int64_t>& values) {
  messages_.push_back(attribute(name, 7));
  for (const std::int64_t value : values) messages_.back().add(8, value);
  return *this;
}

OnnxAttributes& OnnxAttributes::add(std::string_view name, std::string_view text) {
  messages_.push_back(attribute(name, 3).add(4, text));
  return *this;
}

std::string OnnxGraph::node(std::string_view operation, const std::vector<std::string>& inputs,
                            std::string output, const OnnxAttributes& attributes) {
  ProtobufMessage message;  // NodeProto
  for (const std::string& input : inputs) message.add(1, input);
  message.add(2, output).add(3, output).add(4, operation);
  for (const ProtobufMessage& attribute : attributes.messages()) message.add(5, attribute);
  graph_.add(1, message);
  return output;
}

std::string OnnxGraph::constant(std::string name, const std::vector<std::int64_t>& shape,
                                std::span<const float> values) {
  ProtobufMessage message;  // TensorProto
  for (const std::int64_t size : shape) message.add(1, size);
  message.add(2, std::int64_t{kFloat}).add(8, name);
  message.add(9, std::string_view(reinterpret_cast<const char*>(values.data()), values.size_bytes()));
  graph_.add(5, message);
  return name;
}

std::string OnnxGraph::integers(std::string name, const std::vector<std::int64_t>& values) {
  ProtobufMessage message;  // TensorProto
  message.add(1, static_cast<std::int64_t>(values.size()));
  message.add(2, std::int64_t{kInt64}).add(8, name);
  message.add(9, std::string_view(reinterpret_cast<const char*>(values.data()),
                                  values.size() * sizeof(std::int64_t)));
  graph_.add(5, message);
  return name;
}

std::string OnnxGraph::constant(std::string name, double value) {
  const auto single = static_cast<float>(value);
  return constant(std::move(name), {}, std::span(&single, 1));
}

void OnnxGraph::input(std::string_view name, const std::vector<std::int64_t>& shape) {
  graph_.add(11, value_info(name, shape));
}

void OnnxGraph::output(std::string_view name, const std::vector<std::int64_t>& shape) {
  graph_.add(12, value_info(name, shape));
}

std::string OnnxGraph::model(std::string_view name, std::string_view description,
                             std::string_view producer_version,
                             const std::vector<std::pair<std::string, std::string>>& facts) const {
  ProtobufMessage graph;
  graph.add(2, name);
  ProtobufMessage message;  // ModelProto
  message.add(1, std::int64_t{kIrVersion}).add(2, "cosmo-infer").add(3, producer_version).add(6, description);
  message.add(7, std::string(graph.bytes()) + std::string(graph_.bytes()));
  message.add(8, ProtobufMessage().add(1, "").add(2, std::int64_t{kOperatorSet}));
  for (const auto& [key, value] : facts) message.add(14, ProtobufMessage().add(1, key).add(2, value));
  return std::string(message.bytes());
}

}  // namespace cosmo::infer
