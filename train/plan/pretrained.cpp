#include "train/plan/pretrained.hpp"

#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "dataset/quantity/voxel_transform.hpp"
#include "nn/model/model_file.hpp"

namespace cosmo::train {

using core::ensure;
using core::Fault;

namespace {

/// Number of universes of a split from whose phases the model has learned or, for a test, by which it was
/// chosen.
std::size_t seen(const nn::ModelManifest& model, dataset::Split which, const dataset::DatasetManifest& data) {
  std::set<std::uint64_t> known(model.seeds.train.begin(), model.seeds.train.end());
  if (which == dataset::Split::test)
    known.insert(model.seeds.validation.begin(), model.seeds.validation.end());
  return static_cast<std::size_t>(std::ranges::count_if(
      data.split(which).seeds, [&](std::uint64_t seed) { return known.contains(seed); }));
}

std::string smoothing_text(double smooth) { return smooth > 0 ? fmt::format("{:g}", smooth) : "off"; }

/// Whether they differ only in their dropout probabilities.
bool have_the_same_weights(const nn::NetworkSpec& a, const nn::NetworkSpec& b) {
  return nn::with_dropout(a, 0).layers == nn::with_dropout(b, 0).layers;
}

}  // namespace

Pretrained load_pretrained(const std::filesystem::path& directory, const TrainingPlan& plan,
                           const dataset::DatasetManifest& data, bool allow_leak) {
  Pretrained made{directory, nn::load_model_manifest(directory)};
  const nn::ModelManifest& model = made.model;
  const std::string name = directory.string();
  ensure(model.complete, Fault::config,
         "{} of --init-from is a training that is not finished: run its command again until it is.", name);
  ensure(model.normalisation.smooth == plan.objective.smooth, Fault::config,
         "{} of --init-from has --smooth {} and this training {}: give the same.", name,
         smoothing_text(model.normalisation.smooth), smoothing_text(plan.objective.smooth));
  ensure(model.normalisation.voxels == plan.objective.voxels &&
             model.output.option() == plan.objective.output.option(),
         Fault::config, "{} of --init-from reads --voxels {} for --loss {}: give the same.", name,
         model.normalisation.voxels, model.output.option());
  ensure(
      (model.target ? model.target->quantity : "") == plan.objective.target &&
          model.normalisation.reconstruct == plan.objective.reconstruct &&
          model.normalisation.tides == plan.objective.tides &&
          model.normalisation.tides_scale == plan.objective.transform(data).tides_map.scale &&
          (model.normalisation.velocity > 0) == plan.objective.velocity,
      Fault::config,
      "{} of --init-from predicts another --target, or from other channels (--tides, --reconstruct, velocities): give the same.",
      name);
  ensure(have_the_same_weights(model.network, plan.network.spec) && model.network_input() == plan.input,
         Fault::config,
         "{} of --init-from has network {} for {} x {}³ voxels, and this training {} for {} x {}³: give the "
         "same --network.",
         name, model.network.name, model.input.channels, model.input.size, plan.network.spec.name,
         plan.input.channels, plan.input.size);
  try {
    model.input.ensure_fits({{data.spec.input.channels(), data.spec.side()},
                             data.spec.input.redshifts,
                             data.spec.voxel_size(),
                             data.spec.line_of_sight},
                            plan.data);
  } catch (const core::Error& error) {
    core::fail(error.fault(), "{} of --init-from reads other data: {}", name, error.what());
  }
  const core::ParameterSpace& space = data.spec.parameters;
  ensure(
      model.target || (model.parameters.names == space.names && model.parameters.low == space.low &&
                       model.parameters.high == space.high),
      Fault::config,
      "{} of --init-from predicts other parameters or ranges than {} has: their labels have other meanings.",
      name, plan.data);
  ensure(!model.seeds.train.empty() || allow_leak, Fault::config,
         "{} of --init-from does not record which universes it has learned from: train it again, or give "
         "--allow-leak.",
         name);
  for (const dataset::Split split : {dataset::Split::validation, dataset::Split::test}) {
    const std::size_t shared = seen(model, split, data);
    ensure(shared == 0 || allow_leak, Fault::config,
           "{} of --init-from has learned from the phases of {} {} universes of {}: errors on them would not "
           "be those on unseen universes; give --allow-leak if that is what you want.",
           name, shared, name_of(split), plan.data);
  }
  return made;
}

void Pretrained::give_weights(nn::Network& network) const { nn::read_weights(directory, model, network); }

}  // namespace cosmo::train
