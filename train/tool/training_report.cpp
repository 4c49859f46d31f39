#include "train/tool/training_report.hpp"

#include "core/memory.hpp"
#include "train/nn/summary.hpp"
#include "train/plan/training_memory.hpp"

namespace cosmo::train {

using core::Json;

void announce(const core::Log& log, std::span<const nn::OperationRecord> operations) {
  log.info("{}", nn::describe(operations));
  const std::string slow = nn::slow_operations(operations);
  if (!slow.empty()) log.warn("oneDNN has only slow code here for {}.", slow);
}

Json summary_of(const TrainingPlan& plan, const core::Request& request, const nn::NetworkCensus& census,
                int ranks) {
  return {{"output", plan.output},
          {"id", request.id()},
          {"network", plan.network.name},
          {"parameters", census.parameters()},
          {"epochs", plan.epochs},
          {"global_batch", plan.global_batch},
          {"micro_batch", plan.micro_batch},
          {"micro_batches_per_step", plan.micro_batches_per_step(ranks)},
          {"disk_bytes", training_disk(plan, census)}};
}

std::string outline(const core::Invocation& run, const TrainingPlan& plan,
                    const dataset::DatasetManifest& data, std::int64_t memory, std::int64_t disk) {
  return fmt::format(
      "{} epochs of {} samples in steps of {}, {} at once on each of {} ranks x {} threads; about {} of "
      "memory a rank, {} of disk\n",
      plan.epochs, data.split(dataset::Split::train).samples, plan.global_batch, plan.micro_batch,
      run.comm.size(), run.threads, core::format_bytes(static_cast<double>(memory)),
      core::format_bytes(static_cast<double>(disk)));
}

void report(const core::Invocation& run, const TrainingPlan& plan, const TrainingOutcome& outcome,
            Json summary) {
  const auto& [ending, seconds, progress, best, monitor, reading, stragglers] = outcome;
  for (const Json& part : {monitor.to_json(), stragglers.to_json(), reading.to_json()}) summary.update(part);
  summary.update({{"seconds", seconds},
                  {"peak_rss_bytes", run.comm.max(core::peak_resident_memory())},
                  {"epochs_done", progress.epoch},
                  {"steps_done", progress.step},
                  {"complete", ending == Ending::complete},
                  {"best_epoch", best ? Json(best->epoch) : Json()},
                  {"validation_loss", best ? Json(best->validation_loss) : Json()}});
  std::string text = fmt::format("{}: {} of {} epochs, ", plan.output, progress.epoch, plan.epochs);
  if (best)
    text += fmt::format("best validation loss {:.4f} after epoch {}, ", best->validation_loss, best->epoch);
  text += core::format_duration(seconds) + "\n" + monitor.describe() + "\n" + reading.describe() +
          stragglers.describe();
  if (ending != Ending::complete) {
    text += fmt::format("stopped {} after step {}, which is saved: the same command goes on from there\n",
                        ending == Ending::asked ? "as asked" : "before the time limit", progress.step);
  }
  run.report(summary, text);
}

}  // namespace cosmo::train
