#include "nn/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace cosmo::nn {

namespace {

constexpr std::array<std::string_view, 5> kOperationKinds = {"convolution", "dense", "other", "reorder",
                                                             "exchange"};

std::string text_of(const Shape& shape) {
  return shape.size == 1 ? fmt::format("{}", shape.channels)
                         : fmt::format("{} x {}³", shape.channels, shape.size);
}

bool is_slow(const OperationRecord& operation) {
  const auto has = [&](std::string_view part) {
    return operation.implementation.find(part) != std::string::npos;
  };
  return operation.implementation.starts_with("ref") ||
         (operation.kind == OperationKind::convolution && has("gemm") && !has("brgemm"));
}

/// A layer's name, then what runs each phase.
using Row = std::array<std::string, 1 + kPhases.size()>;

std::vector<Row> operation_rows(std::span<const OperationRecord> operations) {
  std::vector<Row> rows = {{"", kPhases[0].name, kPhases[1].name, kPhases[2].name}};
  for (const OperationRecord& operation : operations) {
    if (rows.back()[0] != operation.layer) rows.push_back({operation.layer, "", "", ""});
    std::string& cell = rows.back()[1 + static_cast<std::size_t>(operation.phase)];
    const char* what = operation.kind == OperationKind::reorder ? "reorder " : "";
    cell += fmt::format("{}{}{}", cell.empty() ? "" : " + ", what, operation.implementation);
  }
  return rows;
}

}  // namespace

std::string_view name_of(Phase phase) { return kPhases[static_cast<std::size_t>(phase)].name; }
std::string_view name_of(OperationKind kind) { return kOperationKinds[static_cast<std::size_t>(kind)]; }

std::string describe(const NetworkSpec& spec, const NetworkCensus& census) {
  std::string text = fmt::format("network {}\n", spec.name);
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const LayerCensus& layer = census.layers[i];
    text += fmt::format("  {:<8} {:>10} -> {:<10} {:>10} parameters {:>10.3f} Mflop forward\n",
                        spec.layers[i].name, text_of(layer.input), text_of(layer.output),
                        layer.weights + layer.biases, static_cast<double>(layer.forward_flop) / 1e6);
  }
  return text +
         fmt::format("  {} weights, {} parameters with biases, {:.3f} useful Gflop per sample and step\n",
                     census.weights(), census.parameters(), static_cast<double>(census.useful_flop()) / 1e9);
}

std::string describe(std::span<const OperationRecord> operations) {
  const std::vector<Row> rows = operation_rows(operations);
  std::array<std::size_t, std::tuple_size_v<Row>> widths = {};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("  {:<{}}", row[i], widths[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string slow_operations(std::span<const OperationRecord> operations) {
  std::string text;
  for (const OperationRecord& operation : operations) {
    if (!is_slow(operation)) continue;
    text += fmt::format("{}{} ({}, {})", text.empty() ? "" : ", ", operation.layer, name_of(operation.phase),
                        operation.implementation);
  }
  return text;
}

}  // namespace cosmo::nn
