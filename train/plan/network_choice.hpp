#pragma once
// Section of a training's settings: the network, and what it begins with.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/format/json.hpp"
#include "core/run/options.hpp"
#include "nn/network_spec.hpp"
#include "nn/zoo/zoo.hpp"
#include "train/log/mlperf_log.hpp"
#include "train/plan/context.hpp"

namespace cosmo::train {

struct NetworkChoice {
  nn::NetworkSpec spec;
  std::uint64_t seed;  ///< seed of weights, order, symmetries and dropout

  static void declare(core::Options& options) {
    std::vector<std::string> names = core::names_in(nn::networks());
    names.emplace_back("FILE.json");
    options.begin_group(core::kEveryDay);
    options.add(
        "network NAME|FILE", std::nullopt,
        core::meanings_in(nn::networks()) +
            "; or FILE.json [the largest cosmonet that is not larger than a sample; with --target reconet, or webnet for web; paper and "
            "--benchmark: cosmoflow; for a training already begun: its own]",
        names);
    options.add(
        "baseline", std::nullopt,
        "predictions to mix in, with shares chosen by validation: summary-statistics (a regression on each "
        "sample's P(k), P(k) of log(1 + n), moments and distribution of counts) or none [the network's own]",
        {"summary-statistics", "none"});
    options.add(
        "init-from DIR", std::nullopt,
        "directory of a model with the same --network, whose weights are the initial values, to fine-tune "
        "what was trained on cheaper universes [random]");
    options.add("seed N", "1", "seed of weights, order, symmetries and dropout");
    options.begin_group("What is learned");
    options.add("dropout X", std::nullopt,
                "probability with which dropout layers drop a value in training [the network's own]");
  }

  /// Throws Error{usage} or Error{config}.
  static NetworkChoice read(const core::Options& options, const PlanContext& context) {
    core::ensure(!options.given("init-from") || options.chosen("network"), core::Fault::usage,
                 "Option --init-from needs --network: give that of the model.");
    return {changed(options.chosen("network") ? named(options) : by_default(options, context), options),
            options.seed("seed")};
  }

  /// The network that --network names, from the zoo or a JSON file, with its --dropout and --baseline.
  static nn::NetworkSpec read_named(const core::Options& options) { return changed(named(options), options); }

  void identify(core::Json& config) const {
    config["network"] = spec;
    config["seed"] = seed;
  }

  void state(MlperfLog& log) const {
    log.point("seed", seed);
    for (const nn::Layer& layer : spec.layers) {
      const auto* dropout = std::get_if<nn::Dropout>(&layer.kind);
      if (dropout != nullptr) log.point("dropout", dropout->probability, {{"layer", layer.name}});
    }
  }

 private:
  static nn::NetworkSpec changed(nn::NetworkSpec network, const core::Options& options) {
    if (options.given("baseline"))
      network.baseline = options.choice("baseline") == "none" ? "" : nn::kSummaryStatistics;
    return options.given("dropout") ? nn::with_dropout(network, options.number("dropout")) : network;
  }

  static nn::NetworkSpec named(const core::Options& options) {
    const std::string& name = options.text("network");
    if (!name.ends_with(".json")) return nn::find_network(options.choice("network"));
    const core::Json json = core::read_json(name);
    try {
      return json.get<nn::NetworkSpec>();
    } catch (const core::Error& error) {
      core::fail(error.fault(), "{} of --network: {}", name, error.what());
    }
  }

  /// The network of a training begun in --output, which --force does not replace.
  static std::optional<nn::NetworkSpec> begun(const core::Options& options) {
    const auto config = config_to_continue(options);
    if (!config || !config->contains("network")) return std::nullopt;
    try {
      nn::NetworkSpec network = config->at("network").get<nn::NetworkSpec>();
      const auto row = std::ranges::find(nn::networks(), network.name, &nn::NetworkEntry::name);
      return row == nn::networks().end() ? network : row->make();
    } catch (
        const core::Error&) {  // a damaged manifest is refused, or replaced, like that of any other stage
      return std::nullopt;
    }
  }

  /// That of the training in --output, that of the recipe, or the largest cosmonet that is not larger than a sample.
  static nn::NetworkSpec by_default(const core::Options& options, const PlanContext& context) {
    if (auto network = begun(options)) return *network;
    if (options.given("target"))
      return options.text("target") == "web" ? nn::zoo::webnet() : nn::zoo::reconet();
    if (options.given("network")) return named(options);
    const int side = context.data.spec.side();
    const nn::NetworkEntry* largest = nullptr;
    for (const nn::NetworkEntry& entry : nn::networks()) {
      const bool fits = entry.name.starts_with("cosmonet") && entry.size <= side;
      if (fits && (largest == nullptr || entry.size > largest->size)) largest = &entry;
    }
    core::ensure(
        largest != nullptr, core::Fault::config,
        "No network is made for samples of {}³ voxels, as those of {}: shard larger ones with fewer --subvolumes, or "
        "give a --network that takes these, such as cosmonet32 or FILE.json with one of your own.",
        side, options.text("data"));
    return largest->make();
  }
};

}  // namespace cosmo::train
