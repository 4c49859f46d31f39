#include "infer/doubt/independence.hpp"

#include <fmt/format.h>

#include <set>

#include "core/error.hpp"
#include "nn/model/model_posterior.hpp"

namespace cosmo::infer {

using dataset::Leak;
using dataset::Split;

namespace {

/// Seeds of the split that the model has seen.
std::optional<Leak> leak_from(const nn::SeenSeeds& seen, const dataset::SplitRecord& split, Split which) {
  const std::set<std::uint64_t> seeds(split.seeds.begin(), split.seeds.end());
  std::set<std::uint64_t> shared;
  const auto add = [&](const std::vector<std::uint64_t>& from) {
    const std::size_t before = shared.size();
    for (const std::uint64_t seed : from) {
      if (seeds.contains(seed)) shared.insert(seed);
    }
    return shared.size() > before;
  };
  const bool trained = add(seen.train), validated = add(seen.validation);
  if (shared.empty()) return std::nullopt;
  const char* part = trained && validated ? "training and validation" : trained ? "training" : "validation";
  return Leak{shared.size(), fmt::format("{} data and the model's {} universes", name_of(which), part),
              fmt::format("{} of the {} seeds of its {} universes are those of the model's {} universes",
                          shared.size(), seeds.size(), name_of(which), part)};
}

}  // namespace

Independence independence_of(const nn::ModelManifest& model, const dataset::DatasetManifest& data,
                             Split split) {
  Independence independence;
  const bool same_data = model.base.request.inputs.front().id == data.base.request.id();
  core::ensure(
      same_data || !model.seeds.train.empty(), core::Fault::config,
      "The model does not record the seeds of its universes, being of an earlier version, so other data than "
      "it was trained on may hold the same: train it again, or --resume it to more --epochs.");
  independence.in_sample = same_data && split != Split::test;
  independence.fitted = independence.in_sample && model.base.find(nn::kPosteriorFile) != nullptr;
  if (!independence.in_sample) independence.leak = leak_from(model.seeds, data.split(split), split);
  if (!independence.leak) independence.leak = data.leak();
  return independence;
}

std::string warning_of(const Independence& independence, Split split) {
  std::string text;
  if (independence.in_sample) {
    text = fmt::format("{}{}: the errors are not those on unseen universes.",
                       split == Split::train ? "The network was trained on these very universes"
                                             : "These universes chose the network's checkpoint",
                       independence.fitted ? ", and its posterior was fitted to them" : "");
  }
  if (const auto& leak = independence.leak) {
    text += fmt::format(
        "{}{} share {} seed{}, and so initial phases: the errors are not those on unseen universes.",
        text.empty() ? "" : " ", leak->between, leak->seeds, leak->seeds == 1 ? "" : "s");
  }
  return text;
}

core::Json to_json(const Independence& independence) {
  return {{"leak", independence.leak ? core::Json(*independence.leak) : core::Json()},
          {"in_sample", independence.in_sample}};
}

}  // namespace cosmo::infer
