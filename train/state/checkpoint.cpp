#include "train/state/checkpoint.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "core/error.hpp"
#include "core/finite.hpp"
#include "core/format/json.hpp"
#include "core/hdf5/hdf5.hpp"
#include "nn/model/model_file.hpp"

namespace cosmo::train {

namespace {

using core::hdf5::File;

constexpr const char* kSchema = "cosmo.checkpoint/2";
std::string text_of(const nn::NetworkSpec& spec) { return nlohmann::json(spec).dump(); }

/// The arenas that make up the state, by the name of their group in the file.
std::vector<Moment> arenas_of(const SavedArenas& saved) {
  std::vector<Moment> arenas = saved.optimizer.moments();
  arenas.insert(arenas.begin(), {"weights", saved.network.weights()});
  if (saved.average != nullptr) arenas.push_back(saved.average->moment());
  return arenas;
}

constexpr const char* kAlone = "history_alone";

void write_losses_alone(File& file, const std::vector<EpochMetrics>& history) {
  std::vector<double> losses;
  for (const EpochMetrics& metrics : history)
    losses.push_back(metrics.loss_alone.value_or(std::numeric_limits<double>::quiet_NaN()));
  file.write(kAlone, {losses.size()}, std::span<const double>(losses));
}

/// Does nothing for files of earlier versions.
void read_losses_alone(const File& file, std::vector<EpochMetrics>& history) {
  if (!file.has(kAlone)) return;
  const std::vector<double> losses = file.read<double>(kAlone, {history.size()});
  for (std::size_t e = 0; e < history.size(); ++e) {
    if (std::isfinite(losses[e])) history[e].loss_alone = losses[e];
  }
}

}  // namespace

void write_checkpoint(const std::filesystem::path& path, const nn::NetworkSpec& spec,
                      const SavedArenas& saved, const TrainingProgress& progress, const HistoryShape& shape) {
  const std::vector<Moment> arenas = arenas_of(saved);
  for (const Moment& arena : arenas) {
    core::ensure(core::all_finite(arena.values), core::Fault::numeric,
                 "The {} after step {} are not finite and were not saved: lower --learning-rate; checkpoints "
                 "are as they were.",
                 arena.name, progress.step);
  }
  File file = File::create(path);
  file.set_attribute("schema", std::string(kSchema));
  file.set_attribute("network", text_of(spec));
  file.set_attribute("filtered", nn::to_json(nn::filtered_phases(saved.network.operations())).dump());
  file.set_attribute("epoch", static_cast<std::uint64_t>(progress.epoch));
  file.set_attribute("step", static_cast<std::uint64_t>(progress.step));
  file.set_attribute("epoch_loss", progress.epoch_loss);
  for (const Moment& arena : arenas) nn::write_arena(file, arena.name, saved.network, arena.values);
  std::vector<double> rows;
  for (const EpochMetrics& metrics : progress.history) {
    const std::vector<double> row = to_row(metrics);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  const std::size_t width = width_of_rows(shape.columns, shape.parameters);
  file.write("history", {progress.history.size(), width}, std::span<const double>(rows));
  if (find_values(shape.columns, "baseline_share") != nullptr) write_losses_alone(file, progress.history);
  file.close();
  core::hdf5::release_memory();
}

namespace {

File open_checkpoint(const std::filesystem::path& path, const nn::NetworkSpec& spec) {
  File file = File::open(path);
  core::ensure(file.text_attribute("schema") == kSchema, core::Fault::format,
               "{} is not a checkpoint of this version: train again.", path.string());
  core::ensure(file.text_attribute("network") == text_of(spec), core::Fault::format,
               "{} is a checkpoint of another network: choose another --output.", path.string());
  return file;
}

}  // namespace

TrainingProgress read_checkpoint(const std::filesystem::path& path, const nn::NetworkSpec& spec,
                                 const SavedArenas& saved, const HistoryShape& shape) {
  const File file = open_checkpoint(path, spec);
  core::ensure(saved.average == nullptr || file.has(WeightAverage::kGroup), core::Fault::format,
               "{} holds no average of the weights: restore the file, or train again.", path.string());
  for (const Moment& arena : arenas_of(saved)) {
    nn::read_arena(file, arena.name, saved.network, arena.values);
    core::ensure(core::all_finite(arena.values), core::Fault::format,
                 "{} holds {} that are not finite: restore the file, or train again.", path.string(),
                 arena.name);
    core::ensure(std::string_view(arena.name) != "second_moment" ||
                     std::ranges::all_of(arena.values, [](float value) { return value >= 0; }),
                 core::Fault::format, "{} holds a {} below 0: restore the file, or train again.",
                 path.string(), arena.name);
  }
  TrainingProgress progress;
  progress.epoch = static_cast<int>(file.integer_attribute("epoch"));
  progress.step = static_cast<std::int64_t>(file.integer_attribute("step"));
  progress.epoch_loss = file.number_attribute("epoch_loss");
  const core::hdf5::Dataset history = file.dataset("history");
  const bool diagonals = !history.shape().empty() &&
                         history.shape().back() == width_of_rows(shape.columns, shape.parameters, true);
  const std::size_t width = width_of_rows(shape.columns, shape.parameters, diagonals);
  const auto epochs = static_cast<std::size_t>(progress.epoch);
  const std::vector<double> rows = file.read<double>("history", {epochs, width});
  core::ensure(std::isfinite(progress.epoch_loss) &&
                   std::ranges::all_of(rows, [](double value) { return std::isfinite(value); }),
               core::Fault::format, "{} holds losses that are not finite: restore the file, or train again.",
               path.string());
  for (std::size_t e = 0; e < epochs; ++e) {
    progress.history.push_back(
        from_row(std::span(rows).subspan(e * width, width), shape.columns, shape.parameters));
  }
  read_losses_alone(file, progress.history);
  return progress;
}

core::Json filtered_in(const std::filesystem::path& path, const nn::NetworkSpec& spec) {
  const File file = open_checkpoint(path, spec);
  core::Json filtered;
  if (!file.has_attribute("filtered")) return filtered;
  core::reading_json(path.string(), [&] { filtered = core::parse_json(file.text_attribute("filtered")); });
  return filtered;
}

std::string describe(const TrainingProgress& progress, std::int64_t steps_per_epoch) {
  const std::int64_t steps = progress.step - progress.epoch * steps_per_epoch;
  const std::string epochs = fmt::format("{} epochs", progress.epoch);
  return steps == 0 ? epochs : fmt::format("{} and {} steps", epochs, steps);
}

}  // namespace cosmo::train
