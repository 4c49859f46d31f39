#include "train/model_directory.hpp"

namespace cosmo::train {

namespace {

std::string path_of(int epoch) { return fmt::format("checkpoints/epoch-{:06}.h5", epoch); }

bool is_checkpoint(const core::FileRecord& record) { return record.path.starts_with("checkpoints/"); }

}  // namespace

const core::FileRecord* ModelDirectory::last_checkpoint() const {
  const core::FileRecord* last = nullptr;
  for (const core::FileRecord& record : output_.manifest().files) {
    if (is_checkpoint(record) && (last == nullptr || last->path < record.path)) last = &record;
  }
  return last;
}

const EpochMetrics& ModelDirectory::best_kept(const TrainingProgress& progress) const {
  const EpochMetrics* best = &progress.history.back();
  for (const EpochMetrics& metrics : progress.history) {
    const bool kept = output_.find(path_of(metrics.epoch)) != nullptr;
    if (kept && metrics.validation_loss < best->validation_loss) best = &metrics;
  }
  return *best;
}

void ModelDirectory::save(TrainingState& state, int epochs, const core::Json& facts) {
  const TrainingProgress& progress = state.progress;
  const std::string last = path_of(progress.epoch);
  output_.add(last, [&](const auto& path) {
    write_checkpoint(path, manifest_.network, state.network, state.optimizer, progress);
  });
  output_.add_text("history.csv", history_csv(progress.history, manifest_.parameters.names));
  const EpochMetrics& best = best_kept(progress);
  const std::vector<core::FileRecord> records = output_.manifest().files;
  for (const core::FileRecord& record : records) {
    if (is_checkpoint(record) && record.path != last && record.path != path_of(best.epoch))
      output_.retire(record.path);
  }
  manifest_.checkpoints.clear();
  for (const EpochMetrics& metrics : progress.history) {
    const core::FileRecord* record = output_.find(path_of(metrics.epoch));
    if (record == nullptr) continue;
    manifest_.checkpoints.push_back({metrics.epoch, metrics.step, record->path, record->sha256,
                                     metrics.validation_loss, metrics.epoch == best.epoch});
  }
  manifest_.validation.per_subvolume = best.rmse_per_subvolume;
  manifest_.validation.per_universe = best.rmse_per_universe;
  manifest_.complete = progress.epoch == epochs;
  output_.finish("cosmo-train", manifest_.details(), facts);
}

}  // namespace cosmo::train
