#include "infer/field/class_split.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/error.hpp"
#include "core/finite.hpp"
#include "core/fourier/web_finder.hpp"
#include "core/parallel/gather_values.hpp"
#include "dataset/make/shard_publisher.hpp"
#include "dataset/voxels/linear_displacement.hpp"
#include "infer/field/field_output.hpp"
#include "infer/field/field_predictor.hpp"
#include "nn/output/classes.hpp"

namespace cosmo::infer {

namespace {

/// R of the finder on the counts, in the unit of the box.
constexpr std::array<double, 12> kSmoothings = {2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20};

/// A universe's voxels by one method.
struct FoundConfusion {
  std::uint32_t universe, method;
  dataset::Confusion confusion;
};

/// What one rank predicts and measures with.
class ClassWork {
 public:
  ClassWork(const FieldJob& job, dataset::SplitReader& reader, const core::Communicator& group)
      : reader_(reader),
        predictor_(job.models, job.directories, reader.spec().side(), group),
        threshold_(job.models.front().target->web.value_or(core::WebDefinition{}).threshold),
        counts_(reader.spec().input.voxels()),
        target_(reader.spec().target->voxels()),
        truth_(target_.size()),
        predicted_(target_.size()),
        velocity_(job.models.front().normalisation.velocity > 0 ? reader.spec().velocity->voxels() : 0) {}

  void read(std::uint32_t sample) {
    reader_.read(sample, counts_);
    reader_.read(sample, target_, dataset::Tensor::target);
    std::ranges::transform(target_, truth_.begin(), [](float c) { return static_cast<std::uint8_t>(c); });
    if (!velocity_.empty()) reader_.read(sample, velocity_, dataset::Tensor::velocity);
  }
  /// The logits of the sample that was read; valid until the next call. Collective over the group.
  std::span<const float> predict() {
    return predictor_.predict(std::span<const std::uint16_t>(counts_), velocity_);
  }
  /// The classes of the sample that was predicted.
  std::span<const std::uint8_t> classify(std::uint32_t sample, std::span<const float> logits) {
    core::ensure(core::all_finite(logits), core::Fault::numeric,
                 "The predicted classes of {} are not finite: the training has failed, train again.",
                 reader_.describe(sample));
    nn::most_likely(logits, predicted_);
    return predicted_;
  }

  /// Adds the confusions of all methods for the sample that was predicted.
  void measure(std::uint32_t sample, std::vector<FoundConfusion>& found) {
    const auto add = [&](std::uint32_t method, std::span<const std::uint8_t> classes) {
      found.push_back({sample, method, {}});
      found.back().confusion.add(truth_, classes);
    };
    add(0, predicted_);
    for (std::size_t r = 0; r < kSmoothings.size(); ++r)
      add(static_cast<std::uint32_t>(r + 1), find(kSmoothings[r]));
  }

  FieldSlices slices(std::uint32_t sample) const {
    const int side = reader_.spec().side(), depth = std::max(1, side / 8);
    const std::vector<float> counts(counts_.begin(),
                                    counts_.begin() + static_cast<std::ptrdiff_t>(target_.size())),
        predicted(predicted_.begin(), predicted_.end());
    return {reader_.sample(sample).simulation, dataset::project(counts, side, depth),
            dataset::project(target_, side, 1), dataset::project(predicted, side, 1)};
  }

 private:
  /// The classes of the first channel's counts, as if they were the density.
  std::vector<std::uint8_t> find(double smoothing) const {
    fourier::FourierMesh delta(comm_, {reader_.spec().side(), reader_.spec().box_size.value});
    dataset::set_contrast(std::span<const std::uint16_t>(counts_).first(target_.size()), delta);
    return fourier::web_classes(delta, {smoothing, threshold_});
  }

  core::Communicator comm_ = core::Communicator::self();
  dataset::SplitReader& reader_;
  FieldPredictor predictor_;
  double threshold_;
  std::vector<std::uint16_t> counts_;
  std::vector<float> target_;
  std::vector<std::uint8_t> truth_, predicted_;
  std::vector<float> velocity_;
};

/// The methods with the confusions of all universes, in the order of samples.
std::vector<ClassMethod> methods_of(const std::vector<FoundConfusion>& found, std::size_t universes) {
  std::vector<ClassMethod> methods = {{"network", 0, {}}};
  for (const double smoothing : kSmoothings) methods.push_back({"finder", smoothing, {}});
  for (ClassMethod& method : methods) method.universes.resize(universes);
  for (const FoundConfusion& one : found) methods[one.method].universes[one.universe] = one.confusion;
  return methods;
}

}  // namespace

std::size_t class_memory(const FieldJob& job, int side, const core::Communicator& group) {
  const std::size_t voxels = dataset::Box(side).voxels();
  return FieldPredictor::memory_bytes(job.models, side, group) + fourier::web_memory(side, 1) +
         3 * voxels * sizeof(float);
}

MeasuredClasses predict_classes(const dataset::SampleGroups& ranks, const core::Log& log,
                                core::OutputDirectory& output, const FieldJob& job,
                                dataset::SplitReader& reader) {
  const nn::ModelManifest& model = job.models.front();
  std::optional<ClassWork> work;
  ranks.all.agree([&] { work.emplace(job, reader, ranks.group); });
  std::vector<FoundConfusion> found;
  FieldSlices slices;
  publish_fields(ranks, log, output, reader, [&](std::uint32_t sample, const std::filesystem::path& part) {
    ranks.group.agree([&] { work->read(sample); });
    const std::span<const float> logits = work->predict();
    ranks.group.agree([&] {
      const std::span<const std::uint8_t> classes = work->classify(sample, logits);
      if (!ranks.group.is_root()) return;
      write_predicted_field(part, predicted_field_of(model, reader, sample), classes);
      if (sample == 0) slices = work->slices(sample);
      work->measure(sample, found);
    });
  });
  found = core::gather_values(ranks.all, found);
  return {class_metrics(model.target->quantity, methods_of(found, reader.size())), shared(ranks.all, slices)};
}

}  // namespace cosmo::infer
