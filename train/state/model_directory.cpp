#include "train/state/model_directory.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "nn/model/model_posterior.hpp"
#include "train/state/loss_figure.hpp"

namespace cosmo::train {

namespace {

namespace fs = std::filesystem;

/// Names sort in the order of the states. No name is reused for another state while it is recorded: a kill
/// between renaming the file and publishing the manifest would leave a record of different contents.
std::string path_of(int epoch) { return fmt::format("checkpoints/epoch-{:06}.h5", epoch); }

std::string path_of(const TrainingProgress& progress) {
  const std::int64_t at_epoch = progress.history.empty() ? 0 : progress.history.back().step;
  if (progress.epoch > 0 && progress.step == at_epoch) return path_of(progress.epoch);
  return fmt::format("checkpoints/epoch-{:06}_step-{:09}.h5", progress.epoch, progress.step);
}

bool is_checkpoint(const core::FileRecord& record) { return record.path.starts_with(kCheckpointPrefix); }

}  // namespace

const core::FileRecord* last_checkpoint(std::span<const core::FileRecord> files) {
  const core::FileRecord* last = nullptr;
  for (const core::FileRecord& record : files) {
    if (is_checkpoint(record) && (last == nullptr || last->path < record.path)) last = &record;
  }
  return last;
}

nn::FilteredPhases kept_filtered(const fs::path& directory, const core::Manifest& there,
                                 const nn::FilteredPhases& chosen, const nn::NetworkSpec& network,
                                 const nn::NetworkCensus& census) {
  const core::FileRecord* last = last_checkpoint(there.files);
  if (last == nullptr) return chosen;
  core::Json kept =
      core::read_checked(directory, *last, [&](const fs::path& path) { return filtered_in(path, network); });
  if (there.details.contains("network")) {  // otherwise the manifest is lost or not yet written
    const core::Json stated = there.details.value("filtered", core::Json::object());
    core::ensure(
        kept.is_null() || kept == stated, core::Fault::format,
        "{} states phases to filter other than its checkpoint {}: restore it, or train into another --output.",
        (directory / core::kManifestName).string(), last->path);
    kept = stated;
  }
  if (kept.is_null()) return chosen;
  if (kept.empty()) return {};
  nn::FilteredPhases filtered;
  const std::string source = (directory / last->path).string();
  core::reading_json(source, [&] { filtered = nn::parse_filtered_phases(kept); });
  nn::ensure_filterable(filtered, network, census, source);
  return filtered;
}

ModelDirectory::ModelDirectory(const core::Communicator& comm, core::OutputDirectory& output,
                               nn::ModelManifest manifest)
    : comm_(comm), output_(output), manifest_(std::move(manifest)) {
  comm.agree([&] {
    if (comm.is_root()) remove_strays();
  });
}

/// A state in mid-epoch that was written but not recorded, or only in part, would never be replaced by name.
void ModelDirectory::remove_strays() const {
  if (!fs::exists(output_.path() / "checkpoints")) return;
  std::vector<fs::path> strays;
  for (const auto& entry : fs::directory_iterator(output_.path() / "checkpoints")) {
    const core::FileRecord found{"checkpoints/" + entry.path().filename().string(), 0, ""};
    if (is_checkpoint(found) && output_.find(found.path) == nullptr) strays.push_back(entry.path());
  }
  for (const fs::path& stray : strays) fs::remove(stray);
}

void ModelDirectory::note_range(const std::function<std::optional<nn::InputRange>()>& measure) {
  const core::Json& earlier = output_.manifest().details;
  if (!earlier.contains("input_range")) {
    manifest_.range = measure();
    return;
  }
  core::reading_json((output_.path() / core::kManifestName).string(),
                     [&] { manifest_.range = earlier.at("input_range").get<nn::InputRange>(); });
}

const std::optional<dataset::LearnedBaselines>& ModelDirectory::note_baselines(
    const std::function<std::optional<dataset::LearnedBaselines>()>& measure) {
  const core::FileRecord* record = output_.find(dataset::kBaselinesFile);
  if (record == nullptr) {
    baselines_ = measure();
    return baselines_;
  }
  comm_.agree([&] {
    baselines_ = core::read_checked(output_.path(), *record, [&](const fs::path& path) {
      return dataset::read_baselines(path, manifest_.parameters.size());
    });
  });
  return baselines_;
}

const EpochMetrics* ModelDirectory::best_kept(const TrainingProgress& progress) const {
  const EpochMetrics* best = nullptr;
  double lowest = 0;
  for (std::size_t i = 0; i < progress.history.size(); ++i) {
    const EpochMetrics& metrics = progress.history[i];
    const double loss = averaged_loss(progress.history, i, manifest_.choice_epochs);
    if (output_.find(path_of(metrics.epoch)) == nullptr || (best != nullptr && loss > lowest)) continue;
    best = &metrics;
    lowest = loss;
  }
  return best;
}

void ModelDirectory::list_checkpoints(const TrainingProgress& progress, const EpochMetrics* best) {
  const auto list = [&](const std::string& path, const nn::CheckpointRecord& state) {
    const core::FileRecord* record = output_.find(path);
    if (record == nullptr) return;
    manifest_.checkpoints.push_back(state);
    manifest_.checkpoints.back().path = record->path;
    manifest_.checkpoints.back().sha256 = record->sha256;
  };
  manifest_.checkpoints.clear();
  for (const EpochMetrics& metrics : progress.history) {
    list(path_of(metrics.epoch),
         {metrics.epoch, metrics.step, "", "", metrics.validation_loss, &metrics == best});
  }
  const std::string last = path_of(progress);
  if (last != path_of(progress.epoch)) list(last, {progress.epoch, progress.step, "", "", {}, false});
}

void ModelDirectory::save(TrainingState& state, const Goal& goal, const core::Json& facts,
                          const std::function<void()>& complete) {
  const TrainingProgress& progress = state.progress;
  const std::string last = path_of(progress);
  const std::vector<Column> columns = columns_of(manifest_.output, !manifest_.network.baseline.empty());
  if (baselines_ && output_.find(dataset::kBaselinesFile) == nullptr)
    output_.add(dataset::kBaselinesFile,
                [&](const auto& path) { dataset::write_baselines(path, *baselines_); });
  output_.add(last, [&](const auto& path) {
    write_checkpoint(path, manifest_.network, {state.network, state.optimizer, state.average}, progress,
                     {columns, manifest_.parameters.size()});
  });
  output_.add_text("history.csv", history_csv(progress.history, columns, manifest_.parameters.names));
  const EpochMetrics* best = best_kept(progress);
  if (best != nullptr)
    output_.add_text("loss.svg", loss_figure(progress.history, *best, manifest_.network.name,
                                             manifest_.output.loss_name()));
  const std::vector<core::FileRecord> records = output_.manifest().files;
  for (const core::FileRecord& record : records) {
    const bool is_best = best != nullptr && record.path == path_of(best->epoch);
    if (is_checkpoint(record) && record.path != last && !is_best) output_.retire(record.path);
  }
  list_checkpoints(progress, best);
  if (best != nullptr) {
    const auto values = [&](const char* name) {
      const std::vector<double>* found = find_values(best->columns, name);
      return found == nullptr ? std::vector<double>() : *found;
    };
    nn::ValidationErrors& validation = manifest_.validation;
    validation.per_subvolume = values("rmse_per_subvolume");
    validation.per_universe = values("rmse_per_universe");
    validation.calibration_per_subvolume = values("calibration_per_subvolume");
    validation.calibration_per_universe = values("calibration_per_universe");
    validation.baseline_shares = values("baseline_share");
    if (const auto* f1 = find_values(best->columns, "macro_f1")) validation.macro_f1 = f1->front();
  }
  manifest_.complete = goal.is_reached(progress);
  manifest_.posterior = nullptr;
  manifest_.field_posterior.reset();
  manifest_.base.files = output_.manifest().files;
  if (manifest_.complete)
    complete();
  else if (output_.find(nn::kPosteriorFile) != nullptr)
    output_.retire(nn::kPosteriorFile);  // that of fewer epochs
  output_.finish("cosmo-train", manifest_.details(), facts);
}

}  // namespace cosmo::train
