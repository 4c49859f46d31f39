#include "infer/field/field_predictor.hpp"

#include <algorithm>
#include <cstdint>

#include "core/error.hpp"
#include "dataset/load/slab.hpp"
#include "infer/predict/predictor.hpp"
#include "nn/model/inference.hpp"
#include "nn/model/model_file.hpp"

namespace cosmo::infer {

namespace {

nn::Shape input_of(const nn::ModelManifest& model, int side) {
  return {model.network_input().channels, side};
}

nn::CutPlan plan_of(const nn::ModelManifest& model, int side, int ranks) {
  const nn::Shape input = input_of(model, side);
  return {model.network, nn::take_census(model.network, input, model.outputs()), input, ranks};
}

}  // namespace

void FieldPredictor::ensure_takes(const nn::ModelManifest& model, int side) {
  bool fits = false;
  try {
    fits = nn::take_census(model.network, input_of(model, side), model.outputs()).layers.back().output.size ==
           side;
  } catch (const core::Error&) {  // tensors that it joins differ in size
  }
  core::ensure(
      fits, core::Fault::config,
      "Network {} has no field for a box of {} voxels per side: give boxes whose sides its pools divide, "
      "such as multiples of those of the training, {}.",
      model.network.name, side, model.input.size);
}

FieldPredictor::FieldPredictor(Models models, const std::vector<std::string>& directories, int side,
                               const core::Communicator& group)
    : group_(group),
      side_(side),
      inputs_(transform_of(models.front()), dataset::Box(side).voxels()),
      reads_velocity_(models.front().normalisation.velocity > 0),
      input_(static_cast<std::size_t>(input_of(models.front(), side).elements())) {
  for (std::size_t m = 0; m < models.size(); ++m) {
    const nn::ModelManifest& model = models[m];
    ensure_takes(model, side);
    const nn::Shape input = input_of(model, side);
    std::optional<nn::Share> share;
    if (group.size() > 1)
      share.emplace(nn::Share{plans_.emplace_back(plan_of(model, side, group.size())), group.rank(), &group});
    networks_.emplace_back(model.network, input, model.outputs(), 1, nn::Mode::inference,
                           nn::arithmetic_of(model.network, input, model.outputs()),
                           share ? &*share : nullptr);
    nn::read_weights(directories[m], model, networks_.back());
    targets_.push_back(*model.target);
  }
}

std::size_t FieldPredictor::memory_bytes(Models models, int side, const core::Communicator& group) {
  const nn::ModelManifest& first = models.front();
  const auto voxels = static_cast<std::size_t>(input_of(first, side).elements());
  std::size_t bytes = 2 * voxels * sizeof(float) +
                      dataset::InputMaker::memory_bytes(transform_of(first), dataset::Box(side).voxels());
  for (const nn::ModelManifest& model : models) {
    const nn::Shape input = input_of(model, side);
    std::optional<nn::CutPlan> plan;
    std::optional<nn::Share> share;
    if (group.size() > 1) {
      share.emplace(nn::Share{plan.emplace(plan_of(model, side, group.size())), group.rank(), &group});
      bytes += (voxels / static_cast<std::size_t>(side) *
                    static_cast<std::size_t>(plan->input(group.rank()).size()) +
                static_cast<std::size_t>(model.outputs()) * dataset::Box(side).voxels()) *
               sizeof(float);
    }
    bytes += nn::Network::planned_bytes(model.network, input, model.outputs(), 1, nn::Mode::inference,
                                        nn::arithmetic_of(model.network, input, model.outputs()),
                                        share ? &*share : nullptr);
  }
  if (first.target->has_classes())
    bytes += static_cast<std::size_t>(first.outputs()) * dataset::Box(side).voxels() * sizeof(float);
  return bytes;
}

std::span<const float> FieldPredictor::outputs_of(std::size_t m) {
  nn::Network& network = networks_[m];
  if (plans_.empty()) {
    network.set_input(input_.span());
    return network.forward();
  }
  const nn::CutPlan& plan = plans_[m];
  planes_.resize(network.input_values());
  dataset::copy_planes_of(input_.span(), side_, plan.input(group_.rank()), plan.periodic_input(), planes_);
  network.set_input(planes_);
  const std::span<const float> own = network.forward();
  if (!plan.cuts_output()) return own;
  const auto n = static_cast<std::size_t>(side_), plane = n * n;
  const auto mine = static_cast<std::size_t>(plan.output(group_.rank()).size());
  const std::size_t channels = own.size() / (mine * plane);
  gathered_.resize(channels * n * plane);
  core::Messages messages;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const std::span<const float> from = own.subspan(channel * mine * plane, mine * plane);
    for (int rank = 0; rank < group_.size(); ++rank) {
      const core::Slab planes = plan.output(rank);
      const std::span<float> to =
          std::span(gathered_).subspan((channel * n + static_cast<std::size_t>(planes.first)) * plane,
                                       static_cast<std::size_t>(planes.size()) * plane);
      if (rank == group_.rank()) {
        std::ranges::copy(from, to.begin());
      } else {
        messages.receive(group_, to, rank);
        messages.send(group_, from, rank);
      }
    }
  }
  messages.wait();
  return gathered_;
}

template <class T>
std::span<const float> FieldPredictor::predict(std::span<const T> box, std::span<const float> velocity) {
  const std::span<float> input = input_.span();
  inputs_.make(box, input.first(box.size()));
  if (reads_velocity_) inputs_.make_velocity({}, velocity, input.subspan(box.size()));
  inputs_.make_beside({}, box, input.subspan(box.size()));
  field_.clear();
  const double share = 1 / static_cast<double>(networks_.size());
  for (std::size_t m = 0; m < networks_.size(); ++m) {
    const std::span<const float> output = outputs_of(m);
    const double factor = share / targets_[m].scale, offset = share * targets_[m].offset;
    field_.resize(output.size());
    for (std::size_t i = 0; i < output.size(); ++i)
      field_[i] += static_cast<float>(output[i] * factor + offset);
  }
  return field_;
}

template std::span<const float> FieldPredictor::predict(std::span<const std::uint16_t>,
                                                        std::span<const float>);
template std::span<const float> FieldPredictor::predict(std::span<const float>, std::span<const float>);

}  // namespace cosmo::infer
