#include "train/state/checkpoint.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "core/error.hpp"
#include "core/finite.hpp"
#include "core/format/json.hpp"
#include "core/hdf5/hdf5.hpp"
#include "nn/model/model_file.hpp"
#include "nn/posterior/small_matrix.hpp"

namespace cosmo::train {

namespace {

using core::hdf5::File;

constexpr const char* kSchema = "cosmo.checkpoint/2";
constexpr std::size_t kScalars = 5;  // columns before those of the parameters

/// A figure with one value per parameter (or, for densities, a lower triangle), and the trainings that have
/// it.
struct Figure {
  const char* name;
  std::vector<double> EpochMetrics::*value;
  bool density = false;   ///< a triangle, only for losses that predict densities
  bool baseline = false;  ///< only for networks with a baseline
};
/// All figures in the order of their columns.
constexpr std::array<Figure, 5> kFigures = {
    {{"rmse_per_subvolume", &EpochMetrics::rmse_per_subvolume},
     {"rmse_per_universe", &EpochMetrics::rmse_per_universe},
     {"calibration_per_subvolume", &EpochMetrics::calibration_per_subvolume, true},
     {"calibration_per_universe", &EpochMetrics::calibration_per_universe, true},
     {"baseline_share", &EpochMetrics::baseline_shares, false, true}}};

/// The figures in the history of a network that predicts `parameters` parameters.
std::vector<Figure> figures_of(const nn::Network& network, const nn::NetworkSpec& spec,
                               std::size_t parameters) {
  const bool density = static_cast<std::size_t>(network.outputs()) != parameters;
  std::vector<Figure> figures;
  for (const Figure& figure : kFigures) {
    if ((!figure.density || density) && (!figure.baseline || !spec.baseline.empty()))
      figures.push_back(figure);
  }
  return figures;
}

std::vector<double> to_row(const EpochMetrics& metrics) {
  std::vector<double> row = {static_cast<double>(metrics.epoch), static_cast<double>(metrics.step),
                             metrics.learning_rate, metrics.train_loss, metrics.validation_loss};
  for (const Figure& figure : kFigures) {
    const std::vector<double>& values = metrics.*figure.value;
    row.insert(row.end(), values.begin(), values.end());
  }
  return row;
}

/// Number of columns of a figure. In files of earlier versions a triangle consisted of its diagonal.
std::size_t columns_of(const Figure& figure, std::size_t parameters, bool earlier) {
  return figure.density && !earlier ? nn::triangle_size(parameters) : parameters;
}

/// Number of columns of all figures and the scalars.
std::size_t columns_of(const std::vector<Figure>& figures, std::size_t parameters, bool earlier = false) {
  std::size_t columns = kScalars;
  for (const Figure& figure : figures) columns += columns_of(figure, parameters, earlier);
  return columns;
}

EpochMetrics from_row(std::span<const double> row, const std::vector<Figure>& figures,
                      std::size_t parameters) {
  const bool earlier = row.size() == columns_of(figures, parameters, true);
  EpochMetrics metrics{
      static_cast<int>(row[0]), static_cast<std::int64_t>(row[1]), row[2], row[3], row[4], {}, {}};
  row = row.subspan(kScalars);
  for (const Figure& figure : figures) {
    const auto values = row.first(columns_of(figure, parameters, earlier));
    row = row.subspan(values.size());
    (metrics.*figure.value).assign(values.begin(), values.end());
    if (figure.density) metrics.*figure.value = nn::rows_of(nn::triangle_of(values, parameters), parameters);
  }
  return metrics;
}

std::string text_of(const nn::NetworkSpec& spec) { return nlohmann::json(spec).dump(); }

/// The arenas that make up the state, by the name of their group in the file.
std::vector<Moment> arenas_of(const SavedArenas& saved) {
  std::vector<Moment> arenas = saved.optimizer.moments();
  arenas.insert(arenas.begin(), {"weights", saved.network.weights()});
  if (saved.average != nullptr) arenas.push_back(saved.average->moment());
  return arenas;
}

}  // namespace

void write_checkpoint(const std::filesystem::path& path, const nn::NetworkSpec& spec,
                      const SavedArenas& saved, const TrainingProgress& progress, std::size_t parameters) {
  const std::vector<Moment> arenas = arenas_of(saved);
  for (const Moment& arena : arenas) {
    core::ensure(core::all_finite(std::span<const float>(arena.values)), core::Fault::numeric,
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
  const std::size_t columns = columns_of(figures_of(saved.network, spec, parameters), parameters);
  file.write("history", {progress.history.size(), columns}, std::span<const double>(rows));
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
                                 const SavedArenas& saved, std::size_t parameters) {
  const File file = open_checkpoint(path, spec);
  core::ensure(saved.average == nullptr || file.has(WeightAverage::kGroup), core::Fault::format,
               "{} holds no average of the weights: restore the file, or train again.", path.string());
  for (const Moment& arena : arenas_of(saved)) {
    nn::read_arena(file, arena.name, saved.network, arena.values);
    core::ensure(core::all_finite(std::span<const float>(arena.values)), core::Fault::format,
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
  const std::vector<Figure> figures = figures_of(saved.network, spec, parameters);
  const core::hdf5::Dataset history = file.dataset("history");
  const bool earlier =
      !history.shape().empty() && history.shape().back() == columns_of(figures, parameters, true);
  const std::size_t columns = columns_of(figures, parameters, earlier);
  const auto epochs = static_cast<std::size_t>(progress.epoch);
  const std::vector<double> rows = file.read<double>("history", {epochs, columns});
  core::ensure(std::isfinite(progress.epoch_loss) &&
                   std::ranges::all_of(rows, [](double value) { return std::isfinite(value); }),
               core::Fault::format, "{} holds losses that are not finite: restore the file, or train again.",
               path.string());
  for (std::size_t e = 0; e < epochs; ++e) {
    progress.history.push_back(from_row(std::span(rows).subspan(e * columns, columns), figures, parameters));
  }
  return progress;
}

core::Json filtered_in(const std::filesystem::path& path, const nn::NetworkSpec& spec) {
  const File file = open_checkpoint(path, spec);
  core::Json filtered;
  if (!file.has_attribute("filtered")) return filtered;
  core::reading_json(path.string(), [&] { filtered = core::parse_json(file.text_attribute("filtered")); });
  return filtered;
}

double averaged_loss(const std::vector<EpochMetrics>& history, std::size_t index, int epochs) {
  const std::size_t count = std::min(static_cast<std::size_t>(epochs), index + 1);
  double sum = 0;
  for (std::size_t i = index + 1 - count; i <= index; ++i) sum += history[i].validation_loss;
  return sum / static_cast<double>(count);
}

std::string describe(const TrainingProgress& progress, std::int64_t steps_per_epoch) {
  const std::int64_t steps = progress.step - progress.epoch * steps_per_epoch;
  const std::string epochs = fmt::format("{} epochs", progress.epoch);
  return steps == 0 ? epochs : fmt::format("{} and {} steps", epochs, steps);
}

std::string history_csv(const std::vector<EpochMetrics>& history, const std::vector<std::string>& names) {
  std::string text = "epoch,step,learning_rate,train_loss,validation_loss";
  for (const Figure& figure : kFigures) {
    if (history.empty() ? figure.density || figure.baseline : (history.front().*figure.value).empty())
      continue;
    for (std::size_t i = 0; i < names.size(); ++i) {
      for (std::size_t j = 0; figure.density && j < i; ++j)
        text += fmt::format(",{}_{}_{}", figure.name, names[i], names[j]);
      text += fmt::format(",{}_{}", figure.name, names[i]);
    }
  }
  text += '\n';
  for (const EpochMetrics& metrics : history) text += fmt::format("{}\n", fmt::join(to_row(metrics), ","));
  return text;
}

}  // namespace cosmo::train
