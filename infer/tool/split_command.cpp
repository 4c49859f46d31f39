#include "infer/tool/split_command.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "core/error.hpp"
#include "core/machine/memory.hpp"
#include "core/run/stage.hpp"
#include "core/timer.hpp"
#include "dataset/load/data_loader.hpp"
#include "infer/baseline/comparison.hpp"
#include "infer/doubt/familiarity.hpp"
#include "infer/doubt/farness_check.hpp"
#include "infer/evaluate/by_setting.hpp"
#include "infer/evaluate/method.hpp"
#include "infer/evaluate/posterior_samples.hpp"
#include "infer/evaluate/prediction_file.hpp"
#include "infer/evaluate/uncertainty.hpp"
#include "infer/predict/costs.hpp"
#include "infer/predict/ensemble.hpp"
#include "infer/predict/ensemble_cut.hpp"
#include "infer/report/fiducial.hpp"
#include "infer/report/report.hpp"
#include "infer/tool/split_job.hpp"
#include "infer/tool/tables.hpp"

namespace cosmo::infer {

using core::Fault;
using core::Json;

namespace {

constexpr std::size_t kPrintedUniverses = 40;
constexpr const char* kNoRanking =
    "At one point the errors above do not rank methods: predicting the centre is exact where the point is the centre.\n\n";
constexpr std::uint64_t kBytesPerRow = 1000;     ///< size of the tables of predictions, about
constexpr std::uint64_t kReportBytes = 1 << 20;  ///< size of the report and its figures, about

dataset::LoaderConfig loader_of(const dataset::SampleGroups& ranks, const SplitJob& job) {
  const int batch = batch_of(job.model()), groups = ranks.peers.size();
  return {.rank = ranks.peers.rank(),
          .ranks = groups,
          .global_batch = batch * groups,
          .micro_batch = batch,
          .share = job.cut.slab(ranks, job.manifest, transform_of(job.model()))};
}

/// Memory of the largest rank [bytes].
struct Memory {
  std::uint64_t network;  ///< while the networks predict
  std::uint64_t most;
};

/// Builds the networks' primitives. Collective.
Memory plan_memory(const core::Invocation& run, const dataset::SampleGroups& ranks, const SplitJob& job) {
  std::uint64_t network = 0;
  run.comm.agree([&] {
    network = memory_bytes(job.models, job.manifest.spec, loader_of(ranks, job), job.cut.shares(ranks));
  });
  const std::size_t mixing =
      need_statistics(job.models) ? dataset::summary_bytes(job.manifest.spec, job.samples()) : 0;
  const std::uint64_t baselines =
      core::resident_memory() +
      std::max(mixing, baseline_memory_bytes(run.options, job.model(), job.manifest, job.samples()));
  network = run.comm.max(network);
  return {network, run.comm.max(std::max(network, baselines))};
}

/// What was found out about a split.
struct Findings {
  NetworkPrediction network;
  Methods methods;  ///< the network and the baselines
  Comparison comparison;
  Costs costs;
  std::vector<SettingFigures> settings;
};

/// Predicts the split by the networks. If they have baselines or posteriors, `alone` gets the predictions without these.
/// Collective.
NetworkPrediction predict(const core::Invocation& run, const dataset::SampleGroups& ranks,
                          const SplitJob& job, dataset::SplitReader& reader,
                          const std::optional<dataset::StatisticsTable>& statistics,
                          std::optional<Method>& alone, Costs& costs) {
  const std::vector<nn::Share> shares = job.cut.shares(ranks);
  std::optional<Ensemble> ensemble;
  std::optional<dataset::DataLoader> loader;
  run.comm.agree([&] {
    ensemble.emplace(job.models, job.directories, batch_of(job.model()), shares);
    loader.emplace(reader, transform_of(job.model()), loader_of(ranks, job));
  });
  core::Progress progress(run.log, "samples", static_cast<std::int64_t>(reader.size()));
  const core::Timer timer;
  const dataset::SplitToPredict split{reader, *loader, job.model().parameters};
  const std::vector<float> outputs =
      dataset::predict_split(ranks.peers, split, outputs_of(job.models), [&](const dataset::Batch& batch) {
        progress.advance(batch.samples_in_step);
        return ensemble->predict(batch.voxels);
      });
  costs.note(run.comm, job.models, reader.size(), timer.seconds(), loader->statistics());
  run.comm.agree([&] {
    ensure_finite(outputs, outputs_of(job.models), [&](std::size_t row) {
      const dataset::Sample& sample = reader.sample(static_cast<std::uint32_t>(row));
      return fmt::format("simulation {}, sub-volume {}", sample.simulation, sample.subvolume);
    });
  });
  const std::vector<float> rows = statistics ? ensemble->complete(outputs, *statistics) : outputs;
  if (statistics || job.models.front().joint ||
      std::ranges::any_of(job.models, [](const Model& model) { return model.posterior.has_value(); }))
    alone = alone_prediction(job.models, dataset::truths_of(split), rows);
  return network_prediction(job.models, dataset::truths_of(split), rows);
}

/// Predicts the split by the networks and by the baselines. Collective.
Findings predict_by_all(const core::Invocation& run, const dataset::SampleGroups& ranks, const SplitJob& job,
                        dataset::SplitReader& reader, std::uint64_t memory_predicted) {
  Findings findings{};
  findings.costs.memory_predicted = memory_predicted;
  const PredictedSplit split{job.data,    job.manifest,     reader, job.directories.front(),
                             job.model(), job.models.size()};
  std::optional<dataset::StatisticsTable> statistics;
  if (need_statistics(job.models)) statistics = summarise_all(run, split, scale_of(job.model()));
  std::optional<Method> alone;
  findings.network = predict(run, ranks, job, reader, statistics, alone, findings.costs);
  findings.methods = {findings.network.method};
  if (alone) findings.methods.push_back(*alone);
  findings.settings = evaluate_by_setting(findings.network, reader);
  findings.comparison = add_baselines(run, split, std::move(statistics), findings.methods);
  return findings;
}

std::vector<std::string> outside_of_training(const SplitJob& job, const Findings& findings) {
  std::vector<std::vector<double>> predictions;
  for (const dataset::PredictionRow& row : findings.network.method.universes.rows)
    predictions.push_back(row.prediction);
  std::vector<std::string> sentences = predictions_outside(job.model().parameters, predictions);
  std::ranges::copy(farness_warnings(farness_of(findings.network.universes), compared_universes(job.models)),
                    std::back_inserter(sentences));
  return sentences;
}

/// All of metrics.json, and its uncertainties as text.
std::pair<Json, std::string> metrics_of(const SplitJob& job, const Findings& findings,
                                        const Fiducial& fiducial) {
  const std::vector<double> deviations = job.model().label_deviations();
  Json metrics = metrics_json(findings.methods, deviations);
  const core::ParameterSpace& space = findings.methods.front().universes.parameters;
  metrics["forecast"] = to_json(findings.comparison.forecasts.universes, space, deviations);
  metrics["per_subvolume"]["forecast"] = to_json(findings.comparison.forecasts.subvolumes, space, deviations);
  if (!findings.comparison.origin.is_null()) metrics["baselines_from"] = findings.comparison.origin;
  metrics.update(to_json(job.independence));
  metrics["warnings"] = job.doubts;
  metrics["settings"] = to_json(space, findings.settings);
  std::string uncertainty = add_uncertainty(metrics, findings.network);
  uncertainty += text_of(space, findings.settings);
  if (const auto check =
          check_farness(farness_of(findings.network.universes), compared_universes(job.models))) {
    metrics["features"] = to_json(*check);
    uncertainty += text_of(*check);
  }
  add_fiducial(metrics, space, fiducial);
  return {std::move(metrics), std::move(uncertainty)};
}

/// Draws from the posterior of a typical universe for the report, if all models have one.
void add_draws(const NetworkPrediction& network, Report& page) {
  constexpr std::size_t kDrawsOfReport = 1000;
  const dataset::PredictionTable& universes = network.method.universes;
  if (!have_posteriors(network.models)) return;
  page.drawn = typical_row(universes);
  const SampledUniverse universe{universes.rows[page.drawn].simulation,
                                 &network.universes[page.drawn].density};
  page.draws = draw_physical(universe, universes.parameters, kDrawsOfReport);
}

/// Publishes predictions.csv, universes.csv, baselines.csv, metrics.json and the report. Collective.
core::Report publish(const core::Invocation& run, const SplitJob& job, const Findings& findings,
                     dataset::SplitReader& reader, core::OutputDirectory& output) {
  const auto& [network, methods, comparison, costs, settings] = findings;
  const Methods shown = distinct(methods);
  const dataset::PredictionTable& universes = methods.front().universes;
  const Fiducial fiducial = fiducial_of(universes);
  const auto [metrics, uncertainty] = metrics_of(job, findings, fiducial);
  Json facts = run.facts;
  facts["inference"] = costs.to_json();
  output.add_text("predictions.csv", predictions_csv(methods.front().subvolumes));
  output.add_text("universes.csv", predictions_csv(methods.front().universes));
  output.add_text("baselines.csv", baselines_csv(methods));
  output.add_text("metrics.json", metrics.dump(1) + "\n");
  Report page{shown,
              metrics,
              job.model(),
              deviation_kind(job.models),
              std::string(name_of(job.split)),
              warning_of(job.independence, job.split),
              job.request};
  add_draws(network, page);
  publish_report(run.comm, page, {job.directories.front(), job.model(), reader, job.manifest}, output);
  if (job.draws > 0) {
    std::vector<SampledUniverse> drawn;
    for (std::size_t u = 0; u < network.universes.size(); ++u)
      drawn.push_back({universes.rows[u].simulation, &network.universes[u].density});
    publish_samples(output, universes.parameters, drawn, job.draws);
  }
  Json details = {{"predictions", "predictions.csv"}, {"metrics", metrics}};
  if (!universes.rows.front().network.empty()) details["csv_schema"] = kPosteriorCsvSchema;
  output.finish(run.tool, details, facts);
  return {
      {{"metrics", metrics}, {"inference", costs.to_json()}},
      fmt::format(
          "{}\n{}\n{}\n{}\n{}{}{}: report.html, predictions.csv, universes.csv, baselines.csv, metrics.json{}\n",
          prediction_text(universes, kPrintedUniverses),
          error_text(shown, comparison.forecasts.universes, job.model().label_deviations()) +
              note_text(comparison),
          paired_text(shown), uncertainty,
          fiducial_text(universes.parameters, fiducial, universes.rows.size()),
          at_a_point(page)        ? kNoRanking
          : is_fiducial(fiducial) ? "\n"
                                  : "",
          output.path().string(), job.draws > 0 ? ", samples.h5, chains/" : "")};
}

class SplitStage : public core::Stage {
 public:
  explicit SplitStage(const core::Invocation& invocation)
      : Stage(invocation), job_(read_job(run)), ranks_(run.comm, job_.ranks_per_sample) {
    request = job_.request;
    warn_of(run.log, job_);
  }

  core::Needs needs(const core::Manifest&) override {
    memory_ = plan_memory(run, ranks_, job_);
    const std::size_t parameters = job_.model().parameters.size();
    const std::uint64_t disk =
        job_.samples() * kBytesPerRow + kReportBytes +
        samples_bytes(job_.manifest.split(job_.split).simulations.size(), job_.draws, parameters);
    return {.memory = memory_.most + samples_memory(job_.draws, parameters),
            .memory_cause = "The predictions need",
            .memory_remedy = "use fewer models, or fewer ranks per node",
            .disk = disk,
            .disk_missing = disk,
            .disk_cause = "The predictions to write"};
  }

  core::Report outline() override {
    return {{{"samples", job_.samples()}},
            fmt::format("{} samples of {}{}\n", job_.samples(), job_.data.string(),
                        baseline_plan(run.options, job_.model(), job_.manifest))};
  }

  core::Report make(core::OutputDirectory& output) override {
    std::optional<dataset::SplitReader> reader;
    run.comm.agree([&] {
      const auto share = loader_of(ranks_, job_).share;
      reader.emplace(job_.data, job_.manifest, job_.split, run.comm.rank(), run.comm.size(),
                     share && !share->whole);
      if (run.comm.is_root()) job_.doubts = doubts_of(job_, *reader);
    });
    job_.doubts = Json::parse(run.comm.broadcast(Json(job_.doubts).dump()));
    for (const std::string& doubt : job_.doubts) run.log.warn("{}", doubt);
    const Findings findings = predict_by_all(run, ranks_, job_, *reader, memory_.network);
    for (const std::string& doubt : outside_of_training(job_, findings)) {
      run.log.warn("{}", doubt);
      job_.doubts.push_back(doubt);
    }
    run.comm.agree([&] {
      for (std::size_t m = 0; m < job_.models.size(); ++m)
        core::ensure_same_manifest(job_.directories[m], job_.models[m].base);
      core::ensure_same_manifest(job_.data, job_.manifest.base);
    });
    core::Report report = publish(run, job_, findings, *reader, output);
    run.log.info("{}", findings.costs.text());
    return report;
  }

  core::Report found(const core::Manifest& existing) override {
    for (const Json& doubt : existing.details.at("metrics").value("warnings", Json::array()))
      run.log.warn("{}", doubt.get<std::string>());
    return {{{"samples", job_.samples()}, {"metrics", existing.details.at("metrics")}}, ""};
  }

 private:
  SplitJob job_;
  dataset::SampleGroups ranks_;
  Memory memory_{};
};

}  // namespace

void declare_split(core::Options& options) {
  options.begin_group("A split of a dataset");
  options.add("data DIR", std::nullopt, "directory that cosmo-prep shard or import wrote");
  options.add("split", "test", "train, validation or test", {"train", "validation", "test"});
  dataset::declare_ranks_per_sample(options, "Predictions do not depend on it, except for rounding");
  declare_baselines(options);
  dataset::declare_allow_leak(options);
}

void run_split(const core::Invocation& run) {
  SplitStage stage(run);
  core::run_stage(stage);
}

}  // namespace cosmo::infer
