#pragma once
// The protobuf messages of ONNX that a network needs. Source: onnx/onnx.proto of ONNX 1.12.

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/format/protobuf.hpp"

namespace cosmo::infer {

/// Attributes of a node, in the order in which they are added.
class OnnxAttributes {
 public:
  OnnxAttributes& add(std::string_view name, std::int64_t value);
  OnnxAttributes& add(std::string_view name, float value);
  OnnxAttributes& add(std::string_view name, const std::vector<std::int64_t>& values);
  OnnxAttributes& add(std::string_view name, std::string_view text);

  const std::vector<core::ProtobufMessage>& messages() const { return messages_; }

 private:
  std::vector<core::ProtobufMessage> messages_;
};

/// A graph under construction. Tensors are float32, except integers(), and identified by their names.
class OnnxGraph {
 public:
  /// Adds a node; returns its output's name. Inputs come before the nodes that read them; "" is one left out.
  std::string node(std::string_view operation, const std::vector<std::string>& inputs, std::string output,
                   const OnnxAttributes& attributes = {});
  /// Adds a constant; returns its name.
  std::string constant(std::string name, const std::vector<std::int64_t>& shape,
                       std::span<const float> values);
  /// Adds a constant vector of whole numbers; returns its name.
  std::string integers(std::string name, const std::vector<std::int64_t>& values);
  /// Adds a scalar constant; returns its name.
  std::string constant(std::string name, double value);
  /// Declares the graph's input and outputs, (N, shape...).
  void input(std::string_view name, const std::vector<std::int64_t>& shape);
  void output(std::string_view name, const std::vector<std::int64_t>& shape);

  /// The bytes of a model file with this graph; `facts` are its metadata.
  std::string model(std::string_view name, std::string_view description, std::string_view producer_version,
                    const std::vector<std::pair<std::string, std::string>>& facts) const;

 private:
  core::ProtobufMessage graph_;
};

}  // namespace cosmo::infer
