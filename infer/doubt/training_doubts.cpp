#include "infer/doubt/training_doubts.hpp"

#include <fmt/format.h>

#include "core/error.hpp"

namespace cosmo::infer {

namespace {

constexpr int kFewUniverses = 10;  ///< fewer than these give an rms error that is off by a quarter or more

/// What cannot be used without --unfinished, and what to do instead; empty if there is nothing of that kind.
struct Failing {
  std::string what, remedy;
};

Failing failing_of(const nn::ModelManifest& model) {
  if (!model.complete) return {"holds a training that is not finished", "go on with it"};
  if (model.diverged()) return {"holds a training that diverged", "train again with a lower --learning-rate"};
  return {};
}

}  // namespace

void declare_unfinished(core::Options& options) {
  options.add_flag("unfinished",
                   "accept a model whose training is not finished or diverged, too; what is made with it "
                   "records that");
}

std::vector<std::string> training_doubts(const core::Options& options,
                                         const std::vector<std::string>& directories,
                                         const std::vector<Model>& models) {
  std::vector<std::string> sentences;
  for (std::size_t m = 0; m < models.size(); ++m) {
    const Failing failing = failing_of(models[m]);
    core::ensure(failing.what.empty() || options.flag("unfinished"), core::Fault::config,
                 "{} {}: {}, or give --unfinished.", directories[m], failing.what, failing.remedy);
    if (!failing.what.empty()) sentences.push_back(fmt::format("{} {}.", directories[m], failing.what));
    if (nn::takes_posterior(models[m].output) && models[m].validation.universes < kFewUniverses)
      sentences.push_back(fmt::format(
          "The errors{} of {} rest on {} validation universe{} of its training, and may be far off.",
          models[m].posterior || models[m].joint ? " and the width of the posterior" : "",
          models.size() == 1 ? "the model" : directories[m], models[m].validation.universes,
          models[m].validation.universes == 1 ? "" : "s"));
    const std::vector<std::string> below = models[m].below_centre();
    if (!below.empty())
      sentences.push_back(fmt::format(
          "On the validation universes of its training {} predicts {} no better than the mean of the labels would.",
          models.size() == 1 ? "the model" : directories[m], fmt::join(below, ", ")));
  }
  return sentences;
}

}  // namespace cosmo::infer
