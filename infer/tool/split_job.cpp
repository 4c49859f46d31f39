#include "infer/tool/split_job.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "core/error.hpp"
#include "infer/baseline/comparison.hpp"
#include "infer/doubt/familiarity.hpp"
#include "infer/doubt/training_doubts.hpp"
#include "infer/evaluate/posterior_samples.hpp"
#include "infer/predict/ensemble.hpp"
#include "infer/predict/predictor.hpp"

namespace cosmo::infer {

using core::Fault;
using core::Json;

namespace {

void ensure_fit(const nn::ModelManifest& model, const dataset::SampleSpec& spec, const std::string& data) {
  model.input.ensure_fits(
      {{spec.input.channels(), spec.side()}, spec.input.redshifts, spec.voxel_size(), spec.line_of_sight},
      data);
  core::ensure(spec.parameters.size() > 0 || model.parameters.size() == 0, Fault::config,
               "{} varies no parameter and the model predicts {}: give the kind of data it was trained on.",
               data, fmt::join(model.parameters.names, ", "));
  core::ensure(spec.parameters.names == model.parameters.names, Fault::config,
               "{} varies {} and the model predicts {}: give the kind of data it was trained on.", data,
               fmt::join(spec.parameters.names, ", "), fmt::join(model.parameters.names, ", "));
}

/// What is known of the universes of a dataset; of whole ones always the box.
core::Facts facts_of(const dataset::DatasetManifest& data) {
  core::Facts facts = data.facts, box;
  core::set_length(box, "box", data.spec.box_size);
  if (data.subvolumes == 1) facts.merge(box);
  return facts;
}

core::Request request_of(const core::Options& options, const SplitJob& job) {
  const std::filesystem::path output = options.text("output");
  core::Request request{"infer",
                        {{"split", name_of(job.split)},
                         {"checkpoint", job.model().best().sha256},
                         {"baselines", chosen_baselines(options)}},
                        {}};
  if (job.models.size() > 1) request.config["checkpoint"] = Json::array();
  for (std::size_t m = 0; m < job.models.size(); ++m) {
    request.inputs.push_back(core::input_record(job.directories[m], job.models[m].base, output));
    if (job.models.size() > 1) request.config["checkpoint"].push_back(job.models[m].best().sha256);
  }
  if (const core::FileRecord* kept = kept_baselines(options, job.model()))
    request.config["baselines_sha256"] = kept->sha256;
  const Json posteriors = posterior_records(job.models);
  if (!posteriors.empty()) request.config["posterior_sha256"] = posteriors;
  if (job.draws > 0) request.config["samples"] = job.draws;
  request.inputs.push_back(core::input_record(job.data, job.manifest.base, output));
  request.check = [](const core::Manifest& manifest) {
    core::ensure(manifest.details.contains("metrics") && manifest.details["metrics"].is_object(),
                 Fault::format, "The manifest lacks its metrics.");
  };
  return request;
}

/// A low-pass needs whole boxes.
void ensure_whole(const SplitJob& job) {
  if (job.model().normalisation.smooth == 0) return;
  core::ensure(job.manifest.subvolumes == 1, Fault::config,
               "{} holds sub-volumes, and the model was trained with --smooth on whole boxes: shard with "
               "--subvolumes 1.",
               job.data.string());
}

/// Throws Error{usage}, Error{config}, or what reading the manifests does.
SplitJob checked_job(const core::Options& options, int ranks) {
  for (const char* name : {"model", "data", "output"}) (void)options.text(name);
  for (const char* name : {"box", "particle-type", "length-unit"})
    core::ensure(!options.chosen(name), Fault::usage, "Option --{} applies only with --input: leave it out.",
                 name);
  SplitJob job;
  job.data = options.text("data");
  job.split = dataset::find_split(options.choice("split"));
  NamedModels named = load_models(options.text("model"));
  job.directories = std::move(named.directories);
  job.models = std::move(named.models);
  job.training_doubts = infer::training_doubts(options, job.directories, job.models);
  job.draws = read_samples(options, job.directories, job.models);
  job.manifest = dataset::load_dataset_manifest(job.data);
  core::ensure(job.samples() > 0, Fault::config, "{} has no {} universes: choose --split test.",
               job.data.string(), name_of(job.split));
  ensure_fit(job.model(), job.manifest.spec, job.data.string());
  const dataset::VoxelTransform transform = transform_of(job.model());
  if (transform.kind == dataset::VoxelKind::field && job.manifest.spec.input.kind == transform.kind)
    dataset::ensure_in_domain(transform.name, job.manifest.channels,
                              "the model was trained with it, give data of the kind that it was trained on");
  const nn::NamedFacts known{"the dataset", facts_of(job.manifest)};
  job.facts = nn::check_facts(manifests_of(job.models), job.directories, std::span(&known, 1), known.name,
                              nn::Learned::left_out);
  job.ranks_per_sample = dataset::read_ranks_per_sample(options, ranks);
  ensure_whole(job);
  job.cut = EnsembleCut(job.models, job.ranks_per_sample);
  for (const nn::ModelManifest& model : job.models) {
    const Independence of_model = independence_of(model, job.manifest, job.split);
    if (!job.independence.leak) job.independence.leak = of_model.leak;
    job.independence.in_sample |= of_model.in_sample;
    job.independence.fitted |= of_model.fitted || (of_model.in_sample && job.models.front().joint);
  }
  dataset::refuse_leak(job.independence.leak, job.data.string(), options.flag("allow-leak"));
  job.request = request_of(options, job);
  return job;
}

}  // namespace

SplitJob read_job(const core::Invocation& run) {
  SplitJob job;
  run.comm.agree([&] { job = checked_job(run.options, run.comm.size()); });
  return job;
}

void warn_of(const core::Log& log, const SplitJob& job) {
  const std::string warning = warning_of(job.independence, job.split);
  if (!warning.empty()) log.warn("{}", warning);
  if (!job.facts.remark.empty()) log.info("{}", job.facts.remark);
}

std::vector<std::string> doubts_of(const SplitJob& job, dataset::SplitReader& reader) {
  std::vector<std::string> doubts = job.training_doubts;
  std::ranges::copy(job.facts.warnings, std::back_inserter(doubts));
  std::ranges::copy(truths_outside(job.model().parameters, reader), std::back_inserter(doubts));
  std::ranges::copy(compare_with_training(job.model(), reader), std::back_inserter(doubts));
  return doubts;
}

}  // namespace cosmo::infer
