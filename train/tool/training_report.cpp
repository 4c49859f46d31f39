#include "train/tool/training_report.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/parallel/stop_signals.hpp"
#include "dataset/regression/statistics_regression.hpp"
#include "nn/summary.hpp"

namespace cosmo::train {

using core::Fault;
using core::Json;

void announce(const core::Log& log, std::span<const nn::OperationRecord> operations) {
  log.info("{}", nn::describe(operations));
  const std::string slow = nn::slow_operations(operations);
  if (!slow.empty()) log.warn("oneDNN has only slow code here for {}.", slow);
}

void announce_unfiltered(const core::Log& log, nn::ConvolutionMethod method, const nn::NetworkSpec& network,
                         const nn::NetworkCensus& census) {
  const std::string obstacles = nn::obstacles_to_filtering(network, census);
  if (method == nn::ConvolutionMethod::filtered && !obstacles.empty())
    log.info("--convolution filtered leaves these as they are: {}.", obstacles);
}

Json facts_of(const TrainingPlan& plan, const nn::NetworkCensus& census, int ranks) {
  Json facts = {{"network", plan.network.spec.name},
                {"parameters", census.parameters()},
                {"epochs", plan.epochs},
                {"global_batch", plan.batching.global_batch},
                {"micro_batch", plan.batching.micro_batch},
                {"micro_batches_per_step", plan.batching.micro_batches_per_step(ranks)},
                {"ranks_per_sample", plan.batching.cut.ranks_per_sample},
                {"slabs", plan.batching.cut.ranks_per_sample}};
  if (plan.batching.cut.plan) facts["cut"] = plan.batching.cut.plan->to_json();
  return facts;
}

std::string outline(const core::Invocation& run, const TrainingPlan& plan,
                    const dataset::DatasetManifest& data) {
  const int ranks = plan.batching.cut.ranks_per_sample, all = run.comm.size();
  const std::string groups = ranks > 1 ? fmt::format("{} groups of ", all / ranks) : "";
  return (plan.batching.cut.plan ? plan.batching.cut.plan->describe() : "") +
         fmt::format("{} epochs of {} samples in steps of {}, {} at once on each of {}{}\n", plan.epochs,
                     data.split(dataset::Split::train).samples, plan.batching.global_batch,
                     plan.batching.micro_batch, groups,
                     core::ranks_and_threads(ranks > 1 ? ranks : all, run.threads)) +
         (plan.objective.output.is_field()
              ? ""
              : fmt::format("regressions to compare the network with read {} training samples once\n",
                            dataset::regression_samples(data)));
}

namespace {

/// Which epoch's network predicts, and why.
std::string chosen(const EpochMetrics& best, const std::vector<EpochMetrics>& history, int choice_epochs) {
  const auto at = std::ranges::find(history, best.epoch, &EpochMetrics::epoch);
  const std::string mean =
      choice_epochs > 1 && at != history.begin()
          ? fmt::format(" (mean of the last {}: {:.4f})",
                        std::min<std::int64_t>(choice_epochs, at - history.begin() + 1),
                        averaged_loss(history, static_cast<std::size_t>(at - history.begin()), choice_epochs))
          : "";
  return fmt::format("epoch {} chosen with validation loss {:.4f}{}, ", best.epoch, best.validation_loss,
                     mean);
}

core::Error diverged(const std::string& directory, std::string_view what) {
  return core::Error(
      Fault::numeric,
      fmt::format(
          "The training in {} diverged: its error is far above that of predicting the mean of the {}. Lower "
          "--learning-rate, or give more --epochs if there were few steps, and train with --force or into "
          "another --output.",
          directory, what),
      true);
}

core::Report quality_of_field(const std::string& directory, const nn::ModelManifest& model) {
  core::Report report;
  report.facts = {{"target", model.target->quantity}, {"diverged", model.diverged()}};
  report.text = fmt::format("predicts the field {}: cosmo-infer measures how well\n", model.target->quantity);
  if (model.validation.macro_f1) {
    report.facts["macro_f1"] = *model.validation.macro_f1;
    report.text += fmt::format("macro F1 of the classes of {} validation universes: {:.4f}\n",
                               model.validation.universes, *model.validation.macro_f1);
  }
  const bool below = model.best().validation_loss.value_or(0) > model.loss_of_constant();
  report.facts["below_mean"] = below;
  if (model.diverged())
    report.ending = diverged(directory, "field");
  else if (below)
    report.text +=
        "The network predicts no better than a constant would: give it more epochs or universes, or another "
        "--network.\n";
  return report;
}

}  // namespace

core::Report quality_of(const std::string& directory, const nn::ModelManifest& model) {
  core::Report report;
  if (model.target) return quality_of_field(directory, model);
  Json& errors = report.facts["scaled_errors"] = Json::object();
  const std::vector<double> scaled = model.scaled_errors(), deviations = model.label_deviations(),
                            of_mean = model.errors_of_mean();
  std::vector<std::string> means;
  for (std::size_t p = 0; p < scaled.size(); ++p) {
    const std::string& name = model.parameters.names[p];
    errors[name] = scaled[p];
    report.text += fmt::format("{}{} {:.3g}", p == 0 ? "" : ", ", name, scaled[p]);
    means.push_back(fmt::format("{:.3g}", of_mean[p] / deviations[p]));
  }
  report.text = fmt::format(
      "rms error of {} validation universes / standard deviation of the training labels: {}; predicting the mean "
      "of these labels: {}\n",
      model.validation.universes, report.text, fmt::join(means, ", "));
  const std::vector<std::string> below = model.below_centre();
  report.facts["below_centre"] = below;
  report.facts["diverged"] = model.diverged();
  if (model.diverged())
    report.ending = diverged(directory, "labels");
  else if (!below.empty())
    report.text += fmt::format(
        "The network predicts {} no better than the mean of the training labels would: give it more "
        "epochs or universes, or another --network.\n",
        fmt::join(below, ", "));
  return report;
}

core::Report report_of(const TrainingPlan& plan, const nn::ModelManifest& model,
                       const TrainingOutcome& outcome) {
  const auto& [ending, seconds, progress, best, monitor, reading, stragglers] = outcome;
  core::Report report;
  for (const Json& part : {monitor.to_json(), stragglers.to_json(), reading.to_json()})
    report.facts.update(part);
  report.facts.update({{"epochs_done", progress.epoch},
                       {"steps_done", progress.step},
                       {"best_epoch", best ? Json(best->epoch) : Json()},
                       {"validation_loss", best ? Json(best->validation_loss) : Json()}});
  report.text = fmt::format("{}: {} of {} epochs, ", plan.directory, progress.epoch, plan.epochs);
  if (best) report.text += chosen(*best, progress.history, plan.objective.choice_epochs);
  report.text += core::format_duration(seconds) + "\n" + monitor.describe() + "\n" + reading.describe() +
                 stragglers.describe();
  if (ending != Ending::complete) {
    report.text += fmt::format("stopped {} after step {}, which is saved\n",
                               ending == Ending::asked ? "as asked" : "before the time limit", progress.step);
    report.ending = core::stopped_early();
    return report;
  }
  if (plan.limits.until) {
    const bool reached = plan.goal().found_in(progress.history.back());
    report.facts["until_reached"] = reached;
    report.text +=
        fmt::format("--until {}:{} was {}\n", plan.objective.output.loss_name(), *plan.limits.until,
                    reached ? fmt::format("reached in epoch {}", progress.epoch)
                            : fmt::format("not reached in {} epochs", plan.epochs));
  }
  core::Report quality = quality_of(plan.directory, model);
  report.facts.update(quality.facts);
  report.text += quality.text;
  report.ending = std::move(quality.ending);
  return report;
}

}  // namespace cosmo::train
