#include "infer/field/field_split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "core/finite.hpp"
#include "core/parallel/gather_values.hpp"
#include "dataset/make/shard_publisher.hpp"
#include "dataset/voxels/iterative_reconstruction.hpp"
#include "dataset/voxels/reconstruction.hpp"
#include "infer/field/field_output.hpp"
#include "infer/field/field_predictor.hpp"
#include "infer/initial/stated_spectrum.hpp"

namespace cosmo::infer {

namespace {

/// R of the reconstructions to compare with, in the unit of the box.
constexpr std::array<double, 7> kStandard = {4, 5, 6, 7, 8, 9, 10};
constexpr std::array<double, 4> kIterative = {3, 4, 5, 6};

/// The network and the baselines, without their sums.
std::vector<FieldMethod> all_methods() {
  std::vector<FieldMethod> methods = {{"network"}, {"counts"}};
  for (const double smoothing : kStandard) methods.push_back({"standard", smoothing});
  for (const double smoothing : kIterative) methods.push_back({"iterative", smoothing});
  return methods;
}

/// A bin's sums of one universe by one method.
struct FoundSums {
  std::uint32_t universe, method, bin;
  fourier::SpectrumSums sums;
};

/// A bin's modes of one universe.
struct FoundCover {
  std::uint32_t universe, bin;
  CoverSums sums;
};

/// What is known of a sample: of all the data, and its own parameters.
core::Facts facts_of(const dataset::SplitReader& reader, std::uint32_t sample, core::Facts facts) {
  const core::ParameterSpace& space = reader.spec().parameters;
  const std::span<const float> labels = reader.labels(sample);
  for (std::size_t p = 0; p < space.size(); ++p) {
    const double share = (static_cast<double>(labels[p]) + 1) / 2;
    facts.insert_or_assign(space.names[p], space.low[p] + share * (space.high[p] - space.low[p]));
  }
  return facts;
}

/// What one rank predicts and measures with.
class FieldWork {
 public:
  FieldWork(const FieldJob& job, dataset::SplitReader& reader, const core::Communicator& group)
      : reader_(reader),
        predictor_(job.models, job.directories, reader.spec().side(), group),
        spectra_(reader.spec().side(), reader.spec().box_size.value),
        standard_(kStandard.front(), reader.spec().side()),
        iterative_(kIterative.front(), reader.spec().side()),
        counts_(reader.spec().input.voxels()),
        excess_(reader.spec().target->voxels()),
        truth_(reader.spec().target->voxels()),
        velocity_(job.models.front().normalisation.velocity > 0 ? reader.spec().velocity->voxels() : 0) {
    if (job.models.size() == 1) posterior_ = job.models.front().field_posterior;
  }

  void read(std::uint32_t sample) {
    reader_.read(sample, counts_);
    reader_.read(sample, truth_, dataset::Tensor::target);
    core::ensure(core::all_finite(std::span<const float>(truth_)), core::Fault::format,
                 "The target of {} is not finite: find what is damaged with cosmo-prep verify.",
                 reader_.describe(sample));
    if (!velocity_.empty()) reader_.read(sample, velocity_, dataset::Tensor::velocity);
  }
  /// The predicted field of the sample that was read; valid until the next call. Collective over the group.
  std::span<const float> predict() {
    return predictor_.predict(std::span<const std::uint16_t>(counts_), velocity_);
  }
  void check(std::uint32_t sample, std::span<const float> field) const {
    core::ensure(core::all_finite(field), core::Fault::numeric,
                 "The predicted field of {} is not finite: the training has failed, train again.",
                 reader_.describe(sample));
  }

  /// The sums of all methods for the sample that was predicted.
  void measure(std::uint32_t sample, std::span<const float> field, const core::Facts& facts,
               std::vector<FoundSums>& found) {
    spectra_.set_truth(truth_);
    std::uint32_t method = 0;
    const auto add = [&](std::span<const float> prediction) {
      const fourier::Spectra sums = spectra_.of(prediction);
      for (std::uint32_t bin = 0; bin < sums.size(); ++bin) found.push_back({sample, method, bin, sums[bin]});
      ++method;
    };
    const auto reconstruct = [&](auto& reconstruction, std::span<const double> smoothings) {
      for (const double smoothing : smoothings) {
        reconstruction.set_smoothing(smoothing / reader_.spec().voxel_size().value);
        add(reconstruction.apply(std::span<const std::uint16_t>(counts_).first(excess_.size())));
      }
    };
    add(field);
    cover(sample, facts);
    std::ranges::copy(std::span(counts_).first(excess_.size()),
                      excess_.begin());  // its mean has no part in any mode
    add(excess_);
    reconstruct(standard_, kStandard);
    reconstruct(iterative_, kIterative);
  }

  FieldSlices slices(std::uint32_t sample, std::span<const float> field) const {
    const int side = reader_.spec().side(), depth = std::max(1, side / 8);
    std::vector<float> counts(counts_.begin(), counts_.begin() + static_cast<std::ptrdiff_t>(excess_.size()));
    return {reader_.sample(sample).simulation, dataset::project(counts, side, depth),
            dataset::project(truth_, side, depth), dataset::project(field, side, depth)};
  }

  std::vector<double> bins() const { return spectra_.bins(); }
  /// The modes inside their regions, of universes whose spectrum is known.
  const std::vector<FoundCover>& covered_modes() const { return covered_; }

 private:
  /// Counts them for the sample whose prediction was measured last.
  void cover(std::uint32_t sample, const core::Facts& facts) {
    if (!posterior_) return;
    const std::optional<StatedSpectrum> spectrum =
        known_spectrum(facts_of(reader_, sample, facts), reader_.spec().box_size);
    if (!spectrum) return;
    const std::vector<CoverSums> bins = covered(spectra_, *posterior_, *spectrum);
    for (std::uint32_t bin = 0; bin < bins.size(); ++bin) covered_.push_back({sample, bin, bins[bin]});
  }

  dataset::SplitReader& reader_;
  FieldPredictor predictor_;
  fourier::FieldSpectra spectra_;
  dataset::Reconstruction standard_;
  dataset::IterativeReconstruction iterative_;
  std::vector<std::uint16_t> counts_;
  std::vector<float> excess_, truth_, velocity_;
  std::optional<nn::FieldPosterior> posterior_;  ///< only if there is one model
  std::vector<FoundCover> covered_;
};

/// The methods with the sums of all universes, in the order of samples.
std::vector<FieldMethod> methods_of(const std::vector<FoundSums>& found, std::size_t universes,
                                    std::size_t bins) {
  std::vector<FieldMethod> methods = all_methods();
  for (FieldMethod& method : methods) method.universes.assign(universes, fourier::Spectra(bins));
  for (const FoundSums& sums : found) methods[sums.method].universes[sums.universe][sums.bin] = sums.sums;
  return methods;
}

/// The coverage of all universes; nothing if the spectrum of one is not known.
std::optional<ModeCoverage> coverage_of(const std::vector<FoundCover>& found, std::size_t universes,
                                        std::size_t bins) {
  if (found.size() != universes * bins) return std::nullopt;
  std::vector<std::vector<CoverSums>> all(universes, std::vector<CoverSums>(bins));
  for (const FoundCover& cover : found) all[cover.universe][cover.bin] = cover.sums;
  return infer::coverage_of(all);
}

}  // namespace

std::size_t field_memory(const FieldJob& job, int side, const core::Communicator& group) {
  const std::size_t voxels = dataset::Box(side).voxels();
  return FieldPredictor::memory_bytes(job.models, side, group) + fourier::FieldSpectra::memory_bytes(side) +
         dataset::Reconstruction::memory_bytes(voxels) +
         dataset::IterativeReconstruction::memory_bytes(voxels) +
         (job.models.front().normalisation.velocity > 0 ? 7 : 4) * voxels * sizeof(float);
}

std::string field_path(std::uint32_t simulation) {
  return fmt::format("fields/simulation-{:05}.h5", simulation);
}

PredictedField predicted_field_of(const nn::ModelManifest& model, const dataset::SplitReader& reader,
                                  std::uint32_t sample) {
  const dataset::SampleSpec& spec = reader.spec();
  return {model.target->quantity, model.target->redshifts.front(), spec.side(),      spec.box_size,
          model.best().sha256,    reader.sample(sample).seed,      model.target->web};
}

void publish_fields(const dataset::SampleGroups& ranks, const core::Log& log, core::OutputDirectory& output,
                    const dataset::SplitReader& reader,
                    const std::function<void(std::uint32_t, const std::filesystem::path&)>& write) {
  std::vector<std::string> paths;
  for (std::uint32_t sample = 0; sample < reader.size(); ++sample)
    paths.push_back(field_path(reader.sample(sample).simulation));
  core::Progress progress(log, "universes", static_cast<std::int64_t>(paths.size()));
  dataset::publish_shards(
      ranks.all, ranks.group, progress, output, paths,
      [&](std::size_t u, const std::filesystem::path& part) { write(static_cast<std::uint32_t>(u), part); });
}

FieldSlices shared(const core::Communicator& comm, const FieldSlices& slices) {
  const core::Json own = {slices.simulation, slices.input.side, slices.input.values, slices.truth.values,
                          slices.prediction.values};
  const core::Json json = core::Json::parse(comm.broadcast(own.dump()));
  const int side = json[1];
  return {json[0], {side, json[2]}, {side, json[3]}, {side, json[4]}};
}

MeasuredFields predict_fields(const dataset::SampleGroups& ranks, const core::Log& log,
                              core::OutputDirectory& output, const FieldJob& job,
                              dataset::SplitReader& reader, const core::Facts& facts) {
  const nn::ModelManifest& model = job.models.front();
  std::optional<FieldWork> work;
  ranks.all.agree([&] { work.emplace(job, reader, ranks.group); });
  std::vector<FoundSums> found;
  FieldSlices slices;
  publish_fields(ranks, log, output, reader, [&](std::uint32_t sample, const std::filesystem::path& part) {
    ranks.group.agree([&] { work->read(sample); });
    const std::span<const float> field = work->predict();
    ranks.group.agree([&] {
      work->check(sample, field);
      if (!ranks.group.is_root()) return;
      write_predicted_field(part, predicted_field_of(model, reader, sample), field);
      if (sample == 0) slices = work->slices(sample, field);
      work->measure(sample, field, facts, found);
    });
  });
  found = core::gather_values(ranks.all, found);
  const std::size_t bins = work->bins().size();
  FieldMetrics metrics =
      field_metrics(model.target->quantity, work->bins(), methods_of(found, reader.size(), bins));
  metrics.coverage = coverage_of(core::gather_values(ranks.all, work->covered_modes()), reader.size(), bins);
  return {std::move(metrics), shared(ranks.all, slices)};
}

}  // namespace cosmo::infer
