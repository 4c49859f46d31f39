#include "infer/tool/input_tables.hpp"

#include <algorithm>

#include "core/random.hpp"
#include "infer/doubt/farness_check.hpp"
#include "infer/evaluate/fiducial.hpp"
#include "infer/evaluate/prediction_file.hpp"
#include "infer/predict/deviation_kind.hpp"
#include "infer/tool/tables.hpp"

namespace cosmo::infer {

namespace {

constexpr std::size_t kWidestName = 44;

/// Truths and predictions of all universes; empty if a truth is not known.
dataset::PredictionTable table_of(const ListResult& result) {
  dataset::PredictionTable table{result.models.front().parameters, {}};
  for (const UniversePrediction& universe : result.predictions.universes) {
    if (universe.truth.empty()) return {table.parameters, {}};
    const auto number = static_cast<std::uint32_t>(table.rows.size());
    const std::uint64_t seed =
        universe.seed.value_or(core::kSeedLimit + number);  // without one it is of its own
    table.rows.push_back({number, -1, seed, universe.truth, universe.value, 0, universe.error});
  }
  return table;
}

/// The end of a name that is too long for a column.
std::string shortened(const std::string& name) {
  if (name.size() <= kWidestName) return name;
  std::size_t first = name.size() - kWidestName + 1;
  while (first < name.size() && (static_cast<unsigned char>(name[first]) & 0xc0) == 0x80) ++first;
  return "…" + name.substr(first);
}

/// Width of a parameter's column.
int width_of(const core::ParameterSpace& space, std::size_t p, bool known) {
  const int digits = decimals_of(space, p) + 3;
  return 2 * digits + 3 + (known ? digits + 3 : 0);
}

/// What ± is, with a newline.
std::string error_sentence(Models models, bool of_universes) {
  const auto posteriors =
      std::ranges::count_if(models, [](const Model& model) { return model.posterior.has_value(); });
  const bool joint = models.front().joint.has_value();
  if (models.size() > 1 && posteriors > 0 && !joint)
    return fmt::format("± is the standard deviation of the average of the posteriors{}\n",
                       std::cmp_less(posteriors, models.size())
                           ? ", of models without one that of a Gaussian with their rms errors"
                           : "");
  if (joint || (models.size() == 1 && models.front().posterior))
    return fmt::format(
        "± is the standard deviation of the posterior{}\n",
        of_universes
            ? ""
            : ", the average of those of sub-volumes, as universes were cut differently in training");
  return fmt::format("± is the {}{} on {} validation universes of the model{}\n", deviation_kind(models).name,
                     of_universes ? "" : " of single sub-volumes (cut differently from here)",
                     models.front().validation.universes, models.size() > 1 ? "s" : "");
}

/// A field of a CSV file.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + '"';
}

}  // namespace

std::string universe_text(Models models, const UniversePrediction& prediction) {
  std::string text;
  const core::ParameterSpace& space = models.front().parameters;
  for (std::size_t p = 0; p < space.size(); ++p) {
    const int decimals = decimals_of(space, p);
    text += fmt::format("{:>10}  {:.{}f} ± {:.{}f}\n", space.names[p], prediction.value[p], decimals,
                        prediction.error[p], decimals);
  }
  text += fmt::format("from {} sub-volume{}; {}", prediction.subvolumes.size(),
                      prediction.subvolumes.size() == 1 ? "" : "s",
                      error_sentence(models, prediction.of_universes));
  if (prediction.farness)
    text += fmt::format("distance from the training data: {:.0f} % of {} validation universes are farther\n",
                        100 * prediction.farness->rank, compared_universes(models));
  return text;
}

core::Json universe_json(const core::ParameterSpace& space, const UniversePrediction& prediction) {
  core::Json summary = {{"subvolumes", prediction.subvolumes.size()}};
  for (std::size_t p = 0; p < space.size(); ++p) {
    core::Json& entry = summary["parameters"][space.names[p]];
    entry = {{"value", prediction.value[p]}, {"error", prediction.error[p]}};
    for (const std::vector<double>& subvolume : prediction.subvolumes)
      entry["subvolumes"].push_back(subvolume[p]);
    for (std::size_t q = 0; q < space.size() && !prediction.covariance.empty(); ++q)
      entry["covariance"][space.names[q]] = prediction.covariance[p * space.size() + q];
  }
  if (prediction.farness) summary["features"]["distance_rank"] = prediction.farness->rank;
  return summary;
}

std::string list_text(const ListResult& result, std::size_t most) {
  const core::ParameterSpace& space = result.models.front().parameters;
  const std::vector<UniversePrediction>& universes = result.predictions.universes;
  const std::size_t shown = std::min(most, universes.size());
  std::size_t width = std::string_view("universe").size();
  for (std::size_t i = 0; i < shown; ++i)
    width = std::max(width, std::min(kWidestName, result.list.universes[i].name.size()));
  const bool known = std::ranges::any_of(universes, [](const auto& one) { return !one.truth.empty(); });
  std::string text = fmt::format("{:<{}}", "universe", width);
  const auto cell = [&](const UniversePrediction& one, std::size_t p) {
    const int decimals = decimals_of(space, p);
    std::string digits = fmt::format("{:.{}f} ± {:.{}f}", one.value[p], decimals, one.error[p], decimals);
    if (!one.truth.empty()) digits += fmt::format(" ({:.{}f})", one.truth[p], decimals);
    return digits;
  };
  for (std::size_t p = 0; p < space.size(); ++p)
    text += fmt::format("  {:<{}}", space.names[p], width_of(space, p, known));
  text += '\n';
  for (std::size_t i = 0; i < shown; ++i) {
    const UniversePrediction& one = universes[i];
    text += fmt::format("{:<{}}", shortened(result.list.universes[i].name), width);
    for (std::size_t p = 0; p < space.size(); ++p)
      text += fmt::format("  {:<{}}", cell(one, p), width_of(space, p, known));
    text += '\n';
  }
  if (shown < universes.size())
    text += fmt::format("{:>{}}  {} more\n", "…", width, universes.size() - shown);
  const std::size_t cuts = universes.front().subvolumes.size();
  const bool alike = std::ranges::all_of(
      universes, [cuts](const UniversePrediction& one) { return one.subvolumes.size() == cuts; });
  const bool of_universes = std::ranges::all_of(universes, &UniversePrediction::of_universes);
  text +=
      fmt::format("{} universe{}, from {} sub-volume{}{}; {}{}", universes.size(),
                  universes.size() == 1 ? "" : "s", alike ? fmt::format("{}", cuts) : "different numbers of",
                  alike && cuts == 1 ? "" : "s", alike ? " each" : "", known ? "in brackets the truth; " : "",
                  error_sentence(result.models, of_universes));
  const dataset::PredictionTable table = table_of(result);
  if (const auto check = check_farness(farness_of(universes), compared_universes(result.models)))
    text += text_of(*check);
  const std::string fiducial = fiducial_text(space, fiducial_of(table), table.rows.size());
  return trimmed(fiducial.empty() ? text : text + "\n" + fiducial);
}

core::Json list_json(const ListResult& result) {
  const core::ParameterSpace& space = result.models.front().parameters;
  core::Json list = core::Json::array();
  for (std::size_t i = 0; i < result.predictions.universes.size(); ++i) {
    const UniversePrediction& universe = result.predictions.universes[i];
    core::Json entry = universe_json(space, universe);
    entry["universe"] = result.list.universes[i].name;
    if (universe.seed) entry["seed"] = *universe.seed;
    for (std::size_t p = 0; p < universe.truth.size(); ++p)
      entry["parameters"][space.names[p]]["truth"] = universe.truth[p];
    list.push_back(std::move(entry));
  }
  core::Json summary = {{"universes", list}};
  if (const core::Json fiducial = list_fiducial(result); !fiducial.empty()) summary["fiducial"] = fiducial;
  return summary;
}

std::string list_csv(const ListResult& result) {
  const core::ParameterSpace& space = result.models.front().parameters;
  const std::vector<UniversePrediction>& universes = result.predictions.universes;
  const bool known = std::ranges::any_of(universes, [](const auto& one) { return !one.truth.empty(); });
  std::string text = "input,universe,subvolumes,seed";
  const bool networks = !universes.front().network.empty();
  for (const std::string& name : space.names)
    text += fmt::format("{0},predicted_{1},deviation_{1}{2}", known ? ",true_" + name : "", name,
                        networks ? ",network_" + name : "");
  if (!universes.front().covariance.empty()) text += covariance_names(space);
  const bool ranks = universes.front().farness.has_value();
  if (ranks) text += ",distance_rank";
  text += '\n';
  for (std::size_t i = 0; i < universes.size(); ++i) {
    const ListedUniverse& listed = result.list.universes[i];
    const UniversePrediction& one = universes[i];
    const std::string path = listed.source.path.string();
    text += fmt::format("{},{},{},{}", quoted(path), listed.number ? fmt::format("{}", *listed.number) : "",
                        one.subvolumes.size(), one.seed ? fmt::format("{}", *one.seed) : "");
    for (std::size_t p = 0; p < space.size(); ++p) {
      if (known) text += one.truth.empty() ? "," : fmt::format(",{}", one.truth[p]);
      text += fmt::format(",{},{}", one.value[p], one.error[p]);
      if (networks) text += fmt::format(",{}", one.network[p]);
    }
    text += covariance_fields(one.covariance, space.size());
    if (ranks) text += fmt::format(",{}", one.farness->rank);
    text += '\n';
  }
  return text;
}

core::Json list_fiducial(const ListResult& result) {
  return to_json(result.models.front().parameters, fiducial_of(table_of(result)));
}

}  // namespace cosmo::infer
