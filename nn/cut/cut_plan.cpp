#include "nn/cut/cut_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/error.hpp"
#include "core/log.hpp"
#include "nn/kernel/minimal_filter.hpp"

namespace cosmo::nn {

using core::ensure;
using core::Fault;
using core::Slab;

namespace {

/// a / b, rounded down.
int floor_of(int a, int b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

/// Equal shares, as nearly as possible; cuts are at multiples of `grain` if there are enough of these.
std::vector<Slab> shares(int planes, int ranks, int grain) {
  if (planes <= (ranks - 1) * grain) grain = 1;
  const std::int64_t grains = (planes + grain - 1) / grain;
  std::vector<Slab> all;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto at = [&](int r) { return std::min(planes, static_cast<int>(grains * r / ranks) * grain); };
    all.push_back({at(rank), at(rank + 1)});
  }
  return all;
}

/// Planes of outputs in the tiles of a convolution that can be filtered; 1 for other layers.
int tile_of(const Layer& layer) {
  const auto* convolution = std::get_if<Convolution>(&layer.kind);
  const bool filtered = convolution != nullptr && convolution->stride == 1 &&
                        (convolution->kernel == 3 || convolution->kernel == 4);
  return filtered ? kTile + 1 - convolution->kernel : 1;
}

}  // namespace

CutPlan::Reach CutPlan::reach_of(const Layer& layer) {
  const auto& kind = layer.kind;
  if (const auto* convolution = std::get_if<Convolution>(&kind))
    return {true, convolution->kernel, convolution->stride, convolution->padding, convolution->periodic};
  if (const auto* pool = std::get_if<AveragePool>(&kind)) return {true, pool->size, pool->stride};
  if (const auto* pool = std::get_if<MaxPool>(&kind)) return {true, pool->size, pool->stride};
  if (const auto* transposed = std::get_if<TransposedConvolution>(&kind)) {
    const bool sees_all =
        transposed->kernel >= transposed->stride;  // else outputs are zeros that see nothing
    return {sees_all, transposed->kernel, transposed->stride, transposed->padding, false, true};
  }
  if (const auto* resample = std::get_if<Resample>(&kind)) {
    const int factor = resample->factor;
    if (resample->interpolation == Interpolation::nearest) return {true, factor, factor, 0, false, true};
    const int window = 2 * factor - factor % 2;
    return {true, window, factor, (window - factor) / 2, resample->interpolation == Interpolation::periodic,
            true};
  }
  return {std::holds_alternative<Add>(kind) || std::holds_alternative<Concat>(kind) ||
          std::holds_alternative<Tanh>(kind)};
}

CutPlan::CutPlan(const NetworkSpec& spec, const NetworkCensus& census, Shape input, int ranks)
    : ranks_(ranks), input_(input.size) {
  const std::string option = fmt::format("--ranks-per-sample {}", ranks);
  const std::vector<std::vector<int>> sources = resolve_inputs(spec);
  std::vector<std::size_t> first;
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const Reach reach = reach_of(spec.layers[i]);
    // A rank makes as many planes as a transposed convolution's kernel has: of fewer, oneDNN's weight gradients are wrong.
    const bool transposed = std::holds_alternative<TransposedConvolution>(spec.layers[i].kind);
    const bool has_planes =
        !census.layers[i].vector && census.layers[i].output.size >= ranks * (transposed ? reach.window : 1);
    const bool reads_slabs = std::ranges::all_of(sources[i], [&](int source) {
      return source < 0 || layers_[static_cast<std::size_t>(source)].is_cut;
    });
    if (std::ranges::count(sources[i], -1) > 0) first.push_back(i);
    layers_.push_back({spec.layers[i].name, sources[i], census.layers[i],
                       std::holds_alternative<GlobalMean>(spec.layers[i].kind),
                       reach.known && has_planes && reads_slabs, reach.periodic && reach.padding > 0, reach});
  }
  ensure(
      first.size() == 1, Fault::config,
      "Layers {} and {} of network {} both read the sample, which {} can cut for one layer only: leave it out.",
      layers_[first.front()].name, layers_[first.back()].name, spec.name, option);
  first_ = static_cast<int>(first.front());
  const LayerCut& layer = layers_[first.front()];
  ensure(layer.reach.known && !layer.census.vector && layer.sources.size() == 1, Fault::config,
         "Layer {} of network {} reads the whole sample, so that {} cannot cut it: leave it out.", layer.name,
         spec.name, option);
  ensure(layer.census.output.size >= ranks && input.size >= ranks, Fault::config,
         "{} is more than the {} planes of layer {}: give at most that many.", option,
         std::min(layer.census.output.size, input.size), layer.name);
  choose_planes(spec);
}

/// Cuts a tensor into nearly equal parts, between the tiles of minimal filtering, whose rounding would depend on the
/// cut otherwise. A tensor that one layer reads plane by plane, or by windows side by side, is cut where its output is,
/// so that this layer needs nothing of other ranks.
void CutPlan::choose_planes(const NetworkSpec& spec) {
  std::vector<std::vector<std::size_t>> readers(layers_.size());
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    for (const int source : layers_[i].sources) {
      if (source >= 0) readers[static_cast<std::size_t>(source)].push_back(i);
    }
  }
  // The only reader of a layer's output if it is cut likewise.
  const auto follower = [&](std::size_t i) -> const LayerCut* {
    const LayerCut* reader = readers[i].size() == 1 ? &layers_[readers[i].front()] : nullptr;
    const bool follows = reader != nullptr && reader->is_cut &&
                         reader->reach.window == reader->reach.stride && !reader->reach.finer &&
                         !std::holds_alternative<Convolution>(spec.layers[readers[i].front()].kind);
    return follows ? reader : nullptr;
  };
  std::vector<int> grains(layers_.size(), 1);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (static_cast<int>(i) != first_) grains[i] = std::lcm(grains[i], tile_of(spec.layers[i]));
    if (const LayerCut* reader = follower(i)) {
      int& grain = grains[readers[i].front()];
      grain = std::lcm(grain, grains[i] / std::gcd(grains[i], reader->reach.stride));
    }
  }
  for (std::size_t i = layers_.size(); i-- > 0;) {
    LayerCut& layer = layers_[i];
    const int planes = layer.census.output.size;
    layer.made = shares(planes, ranks_, grains[i]);
    if (readers[i].size() == 1 && may_overlap(spec.layers[i], layer)) {
      const auto only = static_cast<int>(readers[i].front());
      const LayerCut& reads = layers_[readers[i].front()];
      const bool around =
          std::holds_alternative<Convolution>(spec.layers[readers[i].front()].kind) && reads.periodic;
      if (reads.is_cut && (around || reads.overlaps)) {
        for (int rank = 0; rank < ranks_; ++rank)
          layer.made[static_cast<std::size_t>(rank)] = seen(only, rank);
        layer.overlaps = layer.periodic = true;
        continue;
      }
    }
    const LayerCut* reader = follower(i);
    if (reader == nullptr || reader->overlaps) continue;
    for (std::size_t rank = 0; rank < layer.made.size(); ++rank) {
      const auto [first, last] = reader->made[rank];
      layer.made[rank] = {first * reader->reach.stride, last * reader->reach.stride};
    }
    layer.made.back().last = planes;  // with those of an incomplete window
  }
}

bool CutPlan::may_overlap(const Layer& layer, const LayerCut& cut) const {
  const auto* resample = std::get_if<Resample>(&layer.kind);
  return cut.is_cut &&
         (std::holds_alternative<Add>(layer.kind) || std::holds_alternative<Concat>(layer.kind) ||
          (resample != nullptr && resample->interpolation == Interpolation::periodic));
}

Slab CutPlan::seen(int layer, int rank) const {
  const LayerCut& cut = layers_[static_cast<std::size_t>(layer)];
  const auto [known, window, stride, padding, periodic, finer] = cut.reach;
  const auto [first, last] = cut.made[static_cast<std::size_t>(rank)];
  if (!finer) return {first * stride - padding, (last - 1) * stride - padding + window};
  const Slab all = {floor_of(first + padding - window, stride) + 1, floor_of(last - 1 + padding, stride) + 1};
  if (cut.periodic) return all;
  const int source = cut.sources.front();
  const int depth = source < 0 ? input_ : layers_[static_cast<std::size_t>(source)].census.output.size;
  return {std::max(all.first, 0), std::min(all.last, depth)};
}

Slab CutPlan::made(int layer, int rank) const {
  const LayerCut& cut = layers_[static_cast<std::size_t>(layer)];
  return cut.is_cut ? cut.made[static_cast<std::size_t>(rank)] : Slab{0, cut.census.output.size};
}

std::vector<Slab> CutPlan::inputs() const {
  std::vector<Slab> inputs;
  for (int rank = 0; rank < ranks_; ++rank) inputs.push_back(input(rank));
  return inputs;
}

bool CutPlan::sees_own(int layer, int source) const {
  const auto [known, window, stride, padding, periodic, finer] =
      layers_[static_cast<std::size_t>(layer)].reach;
  for (int rank = 0; rank < ranks_; ++rank) {
    const Slab own = made(source, rank), made_here = made(layer, rank);
    if (seen(layer, rank) == own) continue;
    if (finer || padding > 0 || own.first != made_here.first * stride || own.size() < window ||
        (own.size() - window) / stride + 1 != made_here.size())
      return false;
  }
  return true;
}

bool CutPlan::reads_slab(int layer) const {
  const LayerCut& cut = layers_[static_cast<std::size_t>(layer)];
  const int source = cut.sources.front();
  return cut.is_cut || (cut.mean && layers_[static_cast<std::size_t>(source)].is_cut);
}

std::optional<Fetch> CutPlan::fetch(int layer, std::size_t input) const {
  const LayerCut& cut = layers_[static_cast<std::size_t>(layer)];
  if (cut.sources[input] < 0) return std::nullopt;
  const LayerCut& source = layers_[static_cast<std::size_t>(cut.sources[input])];
  const int depth = source.census.output.size;
  if (!source.is_cut || cut.mean || (cut.is_cut && sees_own(layer, cut.sources[input]))) return std::nullopt;
  Fetch fetch = {source.made, {}, depth, cut.periodic, !cut.is_cut};
  for (int rank = 0; rank < ranks_; ++rank)
    fetch.seen.push_back(cut.is_cut ? seen(layer, rank) : Slab{0, depth});
  return fetch;
}

std::int64_t CutPlan::received(int layer, int rank) const {
  const LayerCut& cut = layers_[static_cast<std::size_t>(layer)];
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < cut.sources.size(); ++i) {
    const auto fetched = fetch(layer, i);
    if (!fetched) continue;
    const Shape& shape = layers_[static_cast<std::size_t>(cut.sources[i])].census.output;
    const std::int64_t plane = std::int64_t{4} * shape.channels * shape.size * shape.size;
    for (const Transfer& transfer : transfers_of(*fetched)) {
      if (transfer.from == transfer.to) continue;
      const bool forward = transfer.to == rank, backward = transfer.from == rank && !fetched->whole;
      bytes += plane * transfer.count * ((forward ? 1 : 0) + (backward ? 1 : 0));
    }
  }
  return bytes;
}

std::vector<CutPlan::Part> CutPlan::parts() const {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const LayerCut& cut = layers_[i];
    const Shape& shape = cut.census.output;
    Part part = {cut.name, shape.size, shape.size, 0, cut.mean, 0, 0};
    for (int rank = 0; rank < ranks_; ++rank) {
      const int made = cut.is_cut ? cut.made[static_cast<std::size_t>(rank)].size() : shape.size;
      part.least = std::min(part.least, made);
      part.most = std::max(part.most, made);
      part.fetch_bytes = std::max(part.fetch_bytes, received(static_cast<int>(i), rank));
    }
    part.value_bytes = std::int64_t{4} * shape.channels * part.most * shape.size * shape.size;
    parts.push_back(part);
  }
  return parts;
}

std::string CutPlan::describe() const {
  constexpr const char* kRow = "  {:<12}  {:>6}  {:<14}  {:>8}  {}\n";
  std::string text = fmt::format(kRow, "layer", "planes", "made by a rank", "values", "fetched by it");
  std::int64_t fetched = 0;
  for (const Part& part : parts()) {
    fetched += part.fetch_bytes;
    const std::string made = part.of_sums                ? "a part of sums"
                             : part.least == part.planes ? "all"
                             : part.least == part.most   ? fmt::format("{}", part.most)
                                                         : fmt::format("{} to {}", part.least, part.most);
    text += fmt::format(
        kRow, part.layer, part.planes, made, core::format_bytes(static_cast<double>(part.value_bytes)),
        part.fetch_bytes == 0 ? "-" : core::format_bytes(static_cast<double>(part.fetch_bytes)));
  }
  return text + fmt::format("  a rank fetches at most {} of a sample in a step, forward and backward\n",
                            core::format_bytes(static_cast<double>(fetched)));
}

core::Json CutPlan::to_json() const {
  core::Json all = core::Json::array();
  for (const Part& part : parts()) {
    all.push_back({{"layer", part.layer},
                   {"planes", part.planes},
                   {"least_planes_of_rank", part.least},
                   {"most_planes_of_rank", part.most},
                   {"value_bytes", part.value_bytes},
                   {"fetch_bytes", part.fetch_bytes}});
  }
  return all;
}

std::vector<Transfer> transfers_of(const Fetch& fetch) {
  std::vector<Transfer> transfers;
  for (int to = 0; to < static_cast<int>(fetch.seen.size()); ++to) {
    const auto [first, last] = fetch.seen[static_cast<std::size_t>(to)];
    for (int plane = first; plane < last; ++plane) {
      const bool inside = plane >= 0 && plane < fetch.depth;
      if (!inside && !fetch.periodic) continue;
      const int shown = core::wrapped(plane, fetch.depth);
      const auto owner =
          std::ranges::find_if(fetch.owned, [&](const Slab& own) { return own.contains(shown); });
      const Transfer next = {static_cast<int>(owner - fetch.owned.begin()), to, shown - owner->first,
                             plane - first, 1};
      const Transfer* before = transfers.empty() ? nullptr : &transfers.back();
      if (before != nullptr && before->from == next.from && before->to == to &&
          before->source + before->count == next.source && before->target + before->count == next.target)
        ++transfers.back().count;
      else
        transfers.push_back(next);
    }
  }
  return transfers;
}

}  // namespace cosmo::nn
