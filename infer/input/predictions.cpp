#include "infer/input/predictions.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "core/named.hpp"
#include "core/parallel/gather_values.hpp"
#include "core/parallel/rounds.hpp"
#include "infer/doubt/familiarity.hpp"
#include "infer/doubt/farness_check.hpp"
#include "infer/input/universe_stream.hpp"
#include "infer/predict/predictor.hpp"

namespace cosmo::infer {

namespace {

constexpr std::size_t kBatchesTogether = 4;  ///< that small universes fill before they are finished

/// One of the universes of a rank.
struct Facts {
  std::uint64_t universe;
  std::uint64_t seed;
  std::uint64_t subvolumes;
  std::uint64_t has_seed;
};

/// The universes that one rank has predicted.
struct Predicted {
  std::vector<Facts> facts;
  std::vector<float> outputs;   ///< those of one universe after another
  std::vector<double> figures;  ///< figures, in the same order
};

/// The truths of the model's parameters; empty unless all are known.
std::vector<double> truth_of(const nn::ModelManifest& model, const std::optional<core::Universe>& known) {
  std::vector<double> truth;
  for (const std::string& name : model.parameters.names) {
    const core::CosmologyParameter* row = core::find_cosmology_parameter(name);
    if (!known || row == nullptr) return {};
    truth.push_back(known->cosmology.*row->member);
  }
  return truth;
}

/// Predicts this rank's universes, and gathers those of all. Collective.
Predicted predict_all(const core::Invocation& run, Models models, const std::vector<std::string>& directories,
                      const UniverseList& list) {
  const nn::ModelManifest& model = models.front();
  std::optional<UniverseStream> stream;
  run.comm.agree([&] { stream.emplace(models, directories); });
  const auto batch = static_cast<std::size_t>(batch_of(model));
  const std::size_t universes = list.universes.size(), together = batch == 1 ? 1 : kBatchesTogether * batch;
  const std::size_t chunks = (universes + together - 1) / together;
  std::optional<core::Progress> progress;
  if (universes > 1) progress.emplace(run.log, "universes", static_cast<std::int64_t>(universes));
  bool told = false;
  const core::Log silent(false, true);
  Predicted mine;
  std::size_t done = 0;
  core::in_rounds(
      run.comm, chunks,
      [&](std::size_t chunk) {
        const std::size_t first = chunk * together, last = std::min(universes, first + together);
        std::vector<Facts> facts;
        for (std::size_t i = first; i < last; ++i) {
          const ListedUniverse& listed = list.universes[i];
          OpenUniverse open = open_universe(model, listed.source);
          const std::optional<std::uint64_t> seed = open.seed;
          const UniverseCounts universe = read_universe(told ? silent : run.log, model, std::move(open));
          told = true;
          facts.push_back(
              {i, seed.value_or(0), static_cast<std::uint64_t>(universe.subvolumes()), seed ? 1u : 0u});
          stream->add(universe, listed.name);
        }
        for (const UniverseOutputs& result : stream->finish()) {
          mine.outputs.insert(mine.outputs.end(), result.outputs.begin(), result.outputs.end());
          mine.figures.insert(mine.figures.end(), result.figures.begin(), result.figures.end());
        }
        mine.facts.insert(mine.facts.end(), facts.begin(), facts.end());
      },
      [&](std::size_t finished) {
        const std::size_t before = std::min(universes, done * together);
        done += finished;
        if (progress)
          progress->advance(static_cast<std::int64_t>(std::min(universes, done * together) - before));
      });
  return {core::gather_values(run.comm, mine.facts), core::gather_values(run.comm, mine.outputs),
          core::gather_values(run.comm, mine.figures)};
}

UniversePrediction prediction_of(Models models, std::span<const float> outputs) {
  const std::size_t width = width_of(models);
  UniversePrediction result{{}, {}, {}, true};
  for (std::size_t first = 0; first < outputs.size(); first += width)
    result.subvolumes.push_back(subvolume_distribution(models, outputs.subspan(first, width)).prediction);
  const Distribution distribution = universe_distribution(models, outputs);
  result.value = distribution.prediction;
  result.error = distribution.deviation;
  result.network = distribution.network;
  result.covariance = distribution.covariance;
  result.farness = distribution.farness;
  if (!distribution.network.empty()) result.density = distribution.density;
  result.of_universes = std::ranges::all_of(models, [&](const nn::ModelManifest& model) {
    return result.subvolumes.size() == static_cast<std::size_t>(model.validation.subvolumes);
  });
  return result;
}

/// Adds the figures of a universe's sub-volumes, as UniverseStream measures them.
void add_figures(Familiarity& familiarity, const nn::ModelManifest& model, std::span<const double> figures) {
  const std::size_t channels = model.range->channels.size(), width = 1 + model.range->k.size();
  for (std::size_t sample = 0; sample < figures.size(); sample += channels * width) {
    std::vector<dataset::SummaryStatistics> statistics(channels);
    for (std::size_t c = 0; c < channels; ++c) {
      const auto of_channel = figures.subspan(sample + c * width, width);
      statistics[c].mean = of_channel.front();
      statistics[c].power.assign(of_channel.begin() + 1, of_channel.end());
    }
    familiarity.add(statistics);
  }
}

}  // namespace

std::vector<std::string> recognise(Models models, const UniverseList& list,
                                   std::span<const std::optional<std::uint64_t>> seeds) {
  std::vector<std::string> sentences, trained, chose;
  std::set<std::uint64_t> training, validation;
  for (const nn::ModelManifest& model : models) {
    training.insert(model.seeds.train.begin(), model.seeds.train.end());
    validation.insert(model.seeds.validation.begin(), model.seeds.validation.end());
  }
  std::uint64_t seed = 0;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    if (!seeds[i]) continue;
    seed = *seeds[i];
    if (training.contains(seed))
      trained.push_back(list.universes[i].name);
    else if (validation.contains(seed))
      chose.push_back(list.universes[i].name);
  }
  const auto tell = [&](const std::vector<std::string>& names, const char* what) {
    if (names.empty()) return;
    sentences.push_back(
        seeds.size() == 1
            ? fmt::format("{} has the seed {} of a universe that {}: the error is not that of an unseen one.",
                          names.front(), seed, what)
            : fmt::format(
                  "{} of {} universes have seeds of universes that {}: their errors are not those of unseen "
                  "ones ({}).",
                  names.size(), seeds.size(), what, core::some_of(names)));
  };
  tell(trained, "the model was trained on");
  tell(chose, "chose the model's checkpoint");
  return sentences;
}

ListPredictions predict_list(const core::Invocation& run, Models models,
                             const std::vector<std::string>& directories, const UniverseList& list) {
  const nn::ModelManifest& model = models.front();
  const Predicted all = predict_all(run, models, directories, list);
  const std::size_t universes = list.universes.size(), width = width_of(models);
  const std::size_t figures =
      model.range ? model.range->channels.size() * (1 + model.range->k.size()) : 0;  // of a sub-volume
  ListPredictions result;
  result.universes.resize(universes);
  std::vector<std::span<const double>> measured(universes);
  std::vector<std::optional<std::uint64_t>> seeds(universes);
  std::size_t first = 0;  // sub-volume
  for (const Facts& facts : all.facts) {
    UniversePrediction& prediction = result.universes[facts.universe];
    prediction =
        prediction_of(models, std::span(all.outputs).subspan(first * width, facts.subvolumes * width));
    if (facts.has_seed != 0) prediction.seed = seeds[facts.universe] = facts.seed;
    prediction.truth = truth_of(model, list.universes[facts.universe].known);
    measured[facts.universe] = std::span(all.figures).subspan(first * figures, facts.subvolumes * figures);
    first += facts.subvolumes;
  }
  result.warnings = recognise(models, list, seeds);
  Familiarity familiarity(model);
  std::vector<std::vector<double>> values;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < universes; ++i) {
    if (universes > 1) names.push_back(list.universes[i].name);
    if (universes > 1) familiarity.begin(names.back());
    if (model.range) add_figures(familiarity, model, measured[i]);
    values.push_back(result.universes[i].value);
  }
  const auto tell = [&](const std::vector<std::string>& sentences) {
    result.warnings.insert(result.warnings.end(), sentences.begin(), sentences.end());
  };
  tell(familiarity.warnings());
  tell(predictions_outside(model.parameters, values, names));
  tell(farness_warnings(farness_of(result.universes), compared_universes(models), names));
  return result;
}

}  // namespace cosmo::infer
