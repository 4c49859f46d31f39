#pragma once
// Section of a training's settings: how samples are shared out to steps, ranks and passes.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "core/run/options.hpp"
#include "nn/census.hpp"
#include "nn/network_spec.hpp"
#include "train/gradient/sum_order.hpp"
#include "train/log/mlperf_log.hpp"
#include "train/plan/context.hpp"
#include "train/plan/sample_cut.hpp"

namespace cosmo::train {

struct Batching {
  int global_batch;  ///< samples per step on all ranks together
  int micro_batch;   ///< samples that a rank, or a group of ranks that share them, works on at once
  SampleCut cut;
  SumOrder order;  ///< order of the sum over samples

  static void declare(core::Options& options) {
    options.begin_group(core::kEveryDay);
    options.add(
        "global-batch N", std::nullopt,
        "samples per step on all ranks together; the default falls to the number of training samples if there "
        "are fewer" +
            by_recipe("global-batch"));
    options.begin_group("Ranks and memory");
    options.add(
        "micro-batch N", std::nullopt,
        "samples that each rank works on at once [enough for one 128³ volume; for four if the network "
        "normalises, since it runs forward twice with several micro-batches per step]");
    declare_cut(options);
    options.begin_group(core::kForExperts);
    options.add(
        "deterministic", std::string(kSumOrders.front().name),
        "when a training gives the same bits: layout (with the same ranks, threads and micro-batch), or any "
        "(with any of these and the same --ranks-per-sample, one sample at a time; a stopped training continues "
        "with the same bits on other ranks)",
        core::names_in(kSumOrders));
  }

  /// Throws Error{usage} or Error{config}.
  static Batching read(const core::Options& options, const PlanContext& context,
                       const nn::NetworkSpec& network, const nn::NetworkCensus& census, nn::Shape input) {
    const std::uint64_t samples = context.data.split(dataset::Split::train).samples;
    const bool normalises = nn::find_normalisation(network) >= 0;
    Batching batching;
    batching.order = options.entry("deterministic", kSumOrders).value;
    batching.cut = read_cut(options, network, census, input, context.ranks, batching.order);
    batching.global_batch = static_cast<int>(options.integer("global-batch", 1, 1 << 20));
    if (!options.chosen("global-batch"))
      batching.global_batch = static_cast<int>(
          std::min<std::uint64_t>(samples, static_cast<std::uint64_t>(batching.global_batch)));
    batching.micro_batch =
        options.given("micro-batch")
            ? static_cast<int>(options.integer("micro-batch", 1, 1 << 16))
            : default_micro_batch(batching.global_batch, batching.groups(context.ranks), input, normalises);
    if (batching.order == SumOrder::reproducible) batching.micro_batch = 1;
    batching.check(options, samples, context.ranks);
    core::ensure(
        samples > 1 || !normalises, core::Fault::config,
        "Network {} normalises by the batch, and one training sample makes none: give more universes.",
        network.name);
    core::ensure(
        batching.global_batch > 1 || !normalises, core::Fault::config,
        "Network {} normalises by the batch, but --global-batch is 1: give at least 2, or better 8 or more.",
        network.name);
    return batching;
  }

  /// Default of --micro-batch: a divisor of a group's share of the global batch, at most the number whose elements make
  /// up one 128³ volume, or four volumes for networks that normalise, whose trunks run twice for all micro-batches of a
  /// step except the last.
  static int default_micro_batch(int global_batch, int groups, nn::Shape input, bool normalises) {
    const int share = std::max(1, global_batch / groups);
    const std::int64_t volumes = normalises ? 4 : 1;
    const std::int64_t most =
        std::max<std::int64_t>(1, volumes * std::int64_t{128} * 128 * 128 / input.elements());
    int micro_batch = static_cast<int>(std::min<std::int64_t>(share, most));
    while (share % micro_batch != 0) --micro_batch;
    return micro_batch;
  }

  /// Number of ranks, or of groups of them that share samples.
  int groups(int ranks) const { return ranks / cut.ranks_per_sample; }
  /// Micro-batches per step on one of `ranks` ranks.
  int micro_batches_per_step(int ranks) const { return global_batch / (micro_batch * groups(ranks)); }
  /// Steps that pass over `samples` samples.
  std::int64_t steps_per_epoch(std::uint64_t samples) const {
    const auto batch = static_cast<std::uint64_t>(global_batch);
    return static_cast<std::int64_t>((samples + batch - 1) / batch);
  }

  void identify(core::Json& config) const {
    config["global_batch"] = global_batch;
    if (order != SumOrder::reproducible) return;
    config["deterministic"] = "any";
    if (cut.ranks_per_sample > 1) config["slabs"] = cut.ranks_per_sample;
  }

  void state(MlperfLog& log, int ranks) const {
    log.point("global_batch_size", global_batch);
    log.point("gradient_accumulation_steps", micro_batches_per_step(ranks));
  }

 private:
  const char* sharers() const { return cut.ranks_per_sample == 1 ? "ranks" : "groups of ranks"; }

  /// The global batches next to this one that `groups` groups can share: "8 or 16".
  std::string batches_near(int groups) const {
    const auto share = static_cast<unsigned>(global_batch / groups);
    if (share == 0) return fmt::format("{}", groups);
    const bool tree = order == SumOrder::reproducible;
    const unsigned below = tree ? std::bit_floor(share) : share, above = tree ? 2 * below : below + 1;
    return fmt::format("{} or {}", below * static_cast<unsigned>(groups),
                       above * static_cast<unsigned>(groups));
  }

  void check(const core::Options& options, std::uint64_t samples, int ranks) const {
    using core::ensure, core::Fault;
    const int own = groups(ranks);
    const std::string& data = options.text("data");
    ensure(samples >= static_cast<std::uint64_t>(own), Fault::config,
           "{} has {} training samples for {} {}: use at most as many as samples.", data, samples, own,
           sharers());
    ensure(static_cast<std::uint64_t>(global_batch) <= samples, Fault::config,
           "--global-batch {} exceeds the {} training samples of {}: give at most {}.", global_batch, samples,
           data, samples - samples % static_cast<std::uint64_t>(own));
    ensure(options.given("micro-batch") || global_batch % own == 0, Fault::config,
           "--global-batch {} must be a multiple of the {} {}: give {}, or use another number of ranks.",
           global_batch, own, sharers(), batches_near(own));
    ensure(global_batch % (std::int64_t{own} * micro_batch) == 0, Fault::config,
           "--global-batch {} is not a multiple of --micro-batch {} × {} {}: change one of the three.",
           global_batch, micro_batch, own, sharers());
    const auto share = static_cast<unsigned>(global_batch / own);
    ensure(
        order == SumOrder::layout || std::has_single_bit(share), Fault::config,
        "--deterministic any needs a power of two of samples in a step for each of the {} {}, not {}: give "
        "--global-batch {}, or use another number of ranks.",
        own, sharers(), share, batches_near(own));
  }
};

}  // namespace cosmo::train
