#include <algorithm>

#include "core/log.hpp"
#include "nn/summary.hpp"
#include "train/benchmark/benchmark.hpp"

namespace cosmo::train {

namespace {

using nn::kPhases;

/// A layer's work in each phase.
struct LayerTimes {
  std::string name;
  double flop;  ///< [flop/batch] of a rank in each phase
  std::array<double, kPhases.size()> seconds = {};

  bool has(std::size_t phase) const { return seconds[phase] > 0; }
};

/// Layers with weights, in order.
std::vector<LayerTimes> layer_times(const BenchmarkResult& result) {
  std::vector<LayerTimes> layers;
  auto census = result.census.layers.begin();
  for (const nn::OperationRecord& operation : result.operations) {
    if (operation.kind != nn::OperationKind::convolution && operation.kind != nn::OperationKind::dense)
      continue;
    auto layer = std::ranges::find(layers, operation.layer, &LayerTimes::name);
    if (layer == layers.end()) {
      census = std::find_if(census, result.census.layers.end(),
                            [](const nn::LayerCensus& counted) { return counted.weights > 0; });
      const bool shared =
          result.cut.plan && result.cut.plan->is_cut(static_cast<int>(census - result.census.layers.begin()));
      layers.push_back({operation.layer, static_cast<double>((census++)->forward_flop) * result.batch /
                                             (shared ? result.cut.ranks_per_sample : 1)});
      layer = layers.end() - 1;
    }
    layer->seconds[static_cast<std::size_t>(operation.phase)] += operation.seconds;
  }
  return layers;
}

/// A line of Table I: times, rates and shares of `peak` [flop/s], for the flop of each phase.
std::string row(const LayerTimes& layer, const std::array<double, kPhases.size()>& flop, double peak) {
  std::array<std::string, 3> columns;
  for (std::size_t phase = 0; phase < kPhases.size(); ++phase) {
    const double seconds = layer.seconds[phase], rate = flop[phase] / seconds;
    const bool has = layer.has(phase);
    columns[0] += has ? fmt::format(" {:>8.2f}", seconds * 1e3) : std::string(9, ' ');
    columns[1] += has ? fmt::format(" {:>8.1f}", rate / 1e9) : std::string(9, ' ');
    columns[2] += has ? fmt::format(" {:>8.0f}", 100 * rate / peak) : std::string(9, ' ');
  }
  const std::string line = fmt::format("  {:<8}{}  {}  {}", layer.name, columns[0], columns[1], columns[2]);
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

}  // namespace

double BenchmarkResult::useful_rate() const {
  return static_cast<double>(census.useful_flop()) * batch * groups() / step_time;
}

double BenchmarkResult::forward_rate() const {
  return static_cast<double>(census.forward_flop()) * batch * groups() / forward_time;
}

core::Json BenchmarkResult::to_json() const {
  core::Json parts, list = core::Json::array(), layers = core::Json::array();
  for (const auto& [name, part] : kStepParts) parts[name] = breakdown.*part * 1e3;
  for (const nn::OperationRecord& operation : operations) {
    list.push_back({{"layer", operation.layer},
                    {"phase", name_of(operation.phase)},
                    {"work", name_of(operation.kind)},
                    {"implementation", operation.implementation},
                    {"ms", operation.seconds * 1e3}});
  }
  for (const LayerTimes& layer : layer_times(*this)) {
    core::Json ms, gflops;
    for (std::size_t phase = 0; phase < kPhases.size(); ++phase) {
      if (!layer.has(phase)) continue;
      ms[kPhases[phase].name] = layer.seconds[phase] * 1e3;
      gflops[kPhases[phase].name] = layer.flop / layer.seconds[phase] / 1e9;
    }
    layers.push_back({{"layer", layer.name}, {"ms", ms}, {"gflops", gflops}});
  }
  return {{"parameters", census.parameters()},
          {"weights", census.weights()},
          {"useful_gflop", static_cast<double>(census.useful_flop()) / 1e9},
          {"paper_gflop", static_cast<double>(census.paper_flop()) / 1e9},
          {"batch", batch},
          {"ranks", ranks},
          {"ranks_per_sample", cut.ranks_per_sample},
          {"slabs", cut.ranks_per_sample},
          {"steps", steps},
          {"step_ms", step_time * 1e3},
          {"useful_gflops", useful_rate() / 1e9},
          {"forward_ms", forward_time * 1e3},
          {"forward_gflops", forward_rate() / 1e9},
          {"peak_gflops", peak / 1e9},
          {"peak_unit", peak_unit},
          {"fraction_of_peak", useful_rate() / peak},
          {"peak_rss_bytes", static_cast<std::uint64_t>(peak_rss)},
          {"filtered", nn::to_json(nn::filtered_phases(operations))},
          {"layers", layers},
          {"breakdown_ms", parts},
          {"operations", list}};
}

std::string BenchmarkResult::tables() const {
  std::string text = fmt::format("  {:<8} {:>26}   {:>26}   {:>26}\n  {:<8}", "", "time [ms]", "Gflop/s",
                                 "% of the peak", "layer");
  for (const char* gap : {"", "  ", "  "})
    text += fmt::format("{} {:>8} {:>8} {:>8}", gap, "forward", "weights", "data");
  text += "\n";
  LayerTimes total{"total", 0};
  std::array<double, kPhases.size()> flop = {};
  for (const LayerTimes& layer : layer_times(*this)) {
    text += row(layer, {layer.flop, layer.flop, layer.flop}, peak / ranks);
    for (std::size_t phase = 0; phase < kPhases.size(); ++phase) {
      total.seconds[phase] += layer.seconds[phase];
      if (layer.has(phase)) flop[phase] += layer.flop;
    }
  }
  text += row(total, flop, peak / ranks) + "\n";
  double sum = 0;
  for (const auto& [name, part] : kStepParts) sum += breakdown.*part;
  for (const auto& [name, part] : kStepParts) {
    std::string title = name;
    std::replace(title.begin(), title.end(), '_', ' ');
    text += fmt::format("  {:<14} {:>9.2f} ms {:>5.1f} %\n", title, breakdown.*part * 1e3,
                        100 * breakdown.*part / sum);
  }
  return text;
}

}  // namespace cosmo::train
