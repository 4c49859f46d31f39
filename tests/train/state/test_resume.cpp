// Wherever a training stops, it goes on as if it had not; run on several numbers of ranks.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "core/output/output_directory.hpp"
#include "nn/initialise.hpp"
#include "tests/dataset/small_dataset.hpp"
#include "train/loop/trainer.hpp"
#include "train/optimizer/larc_adam.hpp"
#include "train/state/model_directory.hpp"

using namespace cosmo;
namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t kSamples = 22;
constexpr int kGlobalBatch = 4, kStepsPerEpoch = 6, kEpochs = 2;  // an epoch's last step has 2 samples
constexpr nn::Shape kInput{1, dataset::test::kSide};
constexpr int kOutputs = 2;

nn::NetworkSpec small_network() {
  return {"small",
          "voxels",
          {{"conv", {"voxels"}, nn::Convolution{8, 3, 1, 1, 0.01, true}},
           {"pool", {"conv"}, nn::AveragePool{2, 2}},
           {"up", {"pool"}, nn::TransposedConvolution{4, 2, 2, 0, 0.01}},
           {"finer", {"pool"}, nn::Resample{2, nn::Interpolation::periodic}},
           {"join", {"conv", "up", "finer"}, nn::Concat{}},
           {"mean", {"join"}, nn::GlobalMean{true}},
           {"normal", {"mean"}, nn::Normalise{}},
           {"drop", {"normal"}, nn::Dropout{0.3}},
           {"dense", {"drop"}, nn::Dense{kOutputs}}}};
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// A directory that all ranks see, removed by the root.
class SharedDirectory {
 public:
  explicit SharedDirectory(const core::Communicator& comm) : comm_(comm) {
    if (comm.is_root()) own_.emplace();
    path_ = comm.broadcast(comm.is_root() ? own_->path().string() : "");
  }
  ~SharedDirectory() { comm_.barrier(); }
  const fs::path& path() const { return path_; }

 private:
  const core::Communicator& comm_;
  std::optional<TemporaryDirectory> own_;
  fs::path path_;
};

/// What a run ends with.
struct Outcome {
  train::Ending ending;
  train::TrainingProgress progress;
  std::vector<float> weights;
  std::string manifest;  ///< the file, with the sha256 of all others
};

/// The same training again and again, in directories of its own.
class Experiment {
 public:
  explicit Experiment(const core::Communicator& comm) : comm_(comm), directory_(comm) {
    if (comm.is_root()) data_ = dataset::test::write_dataset(directory_.path() / "data", kSamples);
    comm.barrier();
    if (!comm.is_root()) {  // the same facts from files of its own, which are removed
      const TemporaryDirectory own;
      data_ = dataset::test::write_dataset(own.path(), kSamples);
    }
  }

  fs::path path_of(const std::string& name) const { return directory_.path() / name; }

  /// Begins or goes on; stops where `stop_at` of the times that it is asked is reached, on the last rank
  /// alone.
  Outcome run(const std::string& name, int stop_at, train::Interruptions interruptions = {}) {
    const int rank = comm_.rank(), ranks = comm_.size();
    dataset::SplitReader reader(directory_.path() / "data", data_, dataset::Split::train);
    const dataset::VoxelTransform transform =
        dataset::find_voxel_transform("log1p", {dataset::VoxelKind::counts, 8});
    const int micro_batch = ranks == 1 ? 2 : 1;
    dataset::DataLoader loader(reader, transform,
                               {rank, ranks, kGlobalBatch, micro_batch, 3, true, true, true, 1});
    dataset::DataLoader measured(reader, transform,
                                 {.rank = rank,
                                  .ranks = ranks,
                                  .global_batch = micro_batch * ranks,
                                  .micro_batch = micro_batch,
                                  .most = 9});
    dataset::DataLoader validation(
        reader, transform,
        {.rank = rank, .ranks = ranks, .global_batch = micro_batch * ranks, .micro_batch = micro_batch});
    nn::Network network(small_network(), kInput, kOutputs, micro_batch, nn::Mode::training);
    train::LarcAdam optimizer(network.parameters(),
                              {.larc = train::LarcMode::off, .weight_decay = 1e-3, .learning_rate = {}});
    train::WeightAverage average(network, 0.9);
    train::TrainingState state{network, optimizer, {}, {}, &average};

    const core::Log log(false, true);
    core::OutputDirectory output(comm_, log, path_of(name),
                                 {"train", {{"experiment", 1}, {"loss", "mae"}}, {}}, {});
    train::ModelDirectory model(comm_, output, manifest());
    nn::initialise(network, 3);
    average.start();
    if (const core::FileRecord* last = model.last_checkpoint()) {
      core::check_content(path_of(name), *last);
      state.progress =
          train::read_checkpoint(path_of(name) / last->path, small_network(), {network, optimizer, &average},
                                 {train::columns_of(output_, false), kOutputs});
    }
    train::MlperfLog mlperf("");
    train::TrainingMonitor monitor(log, mlperf, {1, 1}, kSamples);
    int asked = 0;
    interruptions.stop_asked = [&] { return ++asked == stop_at && rank == ranks - 1; };
    const dataset::SplitToPredict predicted{reader, validation, data_.spec.parameters};
    const auto evaluator = train::make_evaluator(output_, predicted);
    const train::Ending ending = train::train({comm_, 1}, monitor,
                                              {{kEpochs},
                                               output_,
                                               3,
                                               kGlobalBatch / (micro_batch * ranks),
                                               train::WireFormat::f32,
                                               train::SumOrder::layout,
                                               0.5,
                                               interruptions},
                                              {reader, loader, &measured, predicted, *evaluator}, state, [&] {
                                                model.save(state, {kEpochs}, core::Json::object(), [] {});
                                              });
    comm_.barrier();
    const std::span<const float> averaged = average.moment().values;
    std::vector<float> weights(network.weights().begin(), network.weights().end());
    weights.insert(weights.end(), averaged.begin(), averaged.end());
    return {ending, state.progress, weights, text_of(path_of(name) / "manifest.json")};
  }

 private:
  nn::ModelManifest manifest() const {
    nn::ModelManifest model{};
    model.network = small_network();
    model.input = {kInput, {0}, core::Length(1)};
    model.parameters = data_.spec.parameters;
    model.output = output_;
    model.normalisation = {"log1p", {0}, {1}, 8};
    return model;
  }

  const core::Communicator& comm_;
  SharedDirectory directory_;
  dataset::DatasetManifest data_;
  const nn::Output output_{"mae", kOutputs};
};

constexpr int kNever = -1;
/// How often a training is asked whether it shall stop: after every step, and after every epoch but the last.
constexpr int kQuestions = kEpochs * kStepsPerEpoch + kEpochs - 1;

void check_same(const Outcome& found, const Outcome& whole) {
  CHECK(found.ending == train::Ending::complete);
  CHECK(found.weights == whole.weights);
  CHECK(found.manifest == whole.manifest);
}

}  // namespace

TEST_CASE("a training stopped after any step and continued is the unbroken one, bit by bit") {
  const core::Communicator comm = core::Communicator::world();
  Experiment experiment(comm);
  const Outcome whole = experiment.run("whole", kNever);
  CHECK(whole.progress.step == kEpochs * kStepsPerEpoch);
  for (int stop = 1; stop <= kQuestions; ++stop) {
    INFO("stopped at the question " << stop);
    const std::string name = "stopped" + std::to_string(stop);
    const Outcome half = experiment.run(name, stop);
    CHECK(half.ending == train::Ending::asked);
    const int after_epoch = stop > kStepsPerEpoch ? 1 : 0;  // the question after the first epoch
    CHECK(half.progress.step == stop - after_epoch);
    CHECK(half.manifest.find("\"complete\": false") != std::string::npos);
    check_same(experiment.run(name, kNever), whole);
  }
}

TEST_CASE("a training of one step a run is the unbroken one, bit by bit") {
  const core::Communicator comm = core::Communicator::world();
  Experiment experiment(comm);
  const Outcome whole = experiment.run("whole", kNever);
  const train::Interruptions no_time{.time_limit = 0};
  int runs = 1;
  Outcome part = experiment.run("parts", kNever, no_time);
  for (; part.ending != train::Ending::complete; ++runs) {
    REQUIRE(part.ending == train::Ending::out_of_time);
    REQUIRE(runs < 2 * kQuestions);
    part = experiment.run("parts", kNever, no_time);
  }
  CHECK(runs == kEpochs * (kStepsPerEpoch + 1));  // validation has a run of its own
  check_same(part, whole);
}

TEST_CASE("saving after every step changes nothing") {
  const core::Communicator comm = core::Communicator::world();
  Experiment experiment(comm);
  const Outcome whole = experiment.run("whole", kNever);
  check_same(experiment.run("saved", kNever, {.checkpoint_interval = 0}), whole);
  int checkpoints = 0;
  for (const auto& entry : fs::directory_iterator(experiment.path_of("saved") / "checkpoints")) {
    checkpoints += entry.is_regular_file();
  }
  CHECK(checkpoints <= 2);
}

TEST_CASE("remains of checkpoints from a killed run are removed when the training continues") {
  const core::Communicator comm = core::Communicator::world();
  Experiment experiment(comm);
  const Outcome whole = experiment.run("whole", kNever);
  (void)experiment.run("killed", 3);
  const fs::path checkpoints = experiment.path_of("killed") / "checkpoints";
  const std::vector<std::string> strays = {"epoch-000000_step-000000004.h5",
                                           "epoch-000000_step-000000005.h5.part"};
  if (comm.is_root()) {
    for (const std::string& stray : strays) std::ofstream(checkpoints / stray) << "half";
    std::ofstream(checkpoints / "notes.txt") << "mine";
  }
  comm.barrier();
  const Outcome part = experiment.run("killed", 1);
  CHECK(part.progress.step == 4);
  CHECK(fs::exists(checkpoints / "notes.txt"));
  CHECK_FALSE(fs::exists(checkpoints / strays[1]));
  check_same(experiment.run("killed", kNever), whole);
}
