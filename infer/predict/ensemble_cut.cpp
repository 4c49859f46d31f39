#include "infer/predict/ensemble_cut.hpp"

#include "core/error.hpp"

namespace cosmo::infer {

EnsembleCut::EnsembleCut(Models models, int ranks_per_sample) {
  if (ranks_per_sample == 1) return;
  for (const nn::ModelManifest& model : models) {
    const nn::CutPlan& plan =
        plans_.emplace_back(model.network, nn::take_census(model.network, model.input, model.outputs()),
                            model.input, ranks_per_sample);
    core::ensure(
        plan.inputs() == plans_.front().inputs() && plan.periodic_input() == plans_.front().periodic_input(),
        core::Fault::config,
        "Networks {} and {} need different planes of a sample that --ranks-per-sample cuts: predict with one "
        "--model at a time, or leave the option out.",
        models.front().network.name, model.network.name);
  }
}

std::vector<nn::Share> EnsembleCut::shares(const dataset::SampleGroups& groups) const {
  std::vector<nn::Share> shares;
  for (const nn::CutPlan& plan : plans_) shares.push_back({plan, groups.group.rank(), &groups.group});
  return shares;
}

std::optional<dataset::SlabShare> EnsembleCut::slab(const dataset::SampleGroups& groups,
                                                    const dataset::DatasetManifest& data,
                                                    const dataset::VoxelTransform& transform) const {
  if (plans_.empty()) return std::nullopt;
  const nn::CutPlan& plan = plans_.front();  // all read the same planes
  return dataset::share_of(plan.inputs(), plan.periodic_input(), groups.group.rank(), data, transform);
}

}  // namespace cosmo::infer
