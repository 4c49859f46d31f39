#include "infer/report/stage_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "core/log.hpp"
#include "core/universe/cosmology.hpp"
#include "core/version.hpp"
#include "infer/report/figure/symbol.hpp"
#include "nn/summary.hpp"

namespace cosmo::infer {

using core::Json;

namespace {

/// A value of a manifest as markup; "0.25 to 0.35" for the range of a parameter.
std::string value_text(const std::string& key, const Json& value) {
  if (value.is_string()) return html::escaped(value.get<std::string>());
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  if (value.is_number_float()) return fmt::format("{:.7g}", value.get<double>());
  if (value.is_array()) {
    const bool range = core::find_cosmology_parameter(key) != nullptr && value.size() == 2;
    std::string text;
    for (const Json& element : value) {
      if (!text.empty()) text += range ? " to " : ", ";
      text += value_text("", element);
    }
    return text;
  }
  if (value.is_object() && value.contains("name")) return value_text("", value.at("name"));
  return html::escaped(value.dump());
}

/// Settings whose names say little to who has not chosen them.
struct SettingName {
  std::string_view key, name;
};
constexpr SettingName kSettingNames[] = {{"method", "version of the method"},
                                         {"augment", "random symmetries"},
                                         {"roll", "random shifts"},
                                         {"voxels", "transform of the voxels"},
                                         {"average", "average of the weights"},
                                         {"choice_epochs", "epochs averaged for the choice"},
                                         {"wire", "gradients sent as"},
                                         {"fixed_amplitude", "fixed amplitudes"},
                                         {"paired", "paired phases"},
                                         {"test", "test universes"},
                                         {"validation", "validation universes"}};

/// "box_mpc_h" is "box [Mpc/h]", omega_m its symbol, others have a name or spaces.
std::string key_text(std::string key) {
  if (core::find_cosmology_parameter(key) != nullptr) return html_symbol(key);
  const auto named = std::ranges::find(kSettingNames, key, &SettingName::key);
  if (named != std::end(kSettingNames)) return std::string(named->name);
  constexpr std::string_view kUnit = "_mpc_h";
  const bool length = key.ends_with(kUnit);
  if (length) key.resize(key.size() - kUnit.size());
  std::ranges::replace(key, '_', ' ');
  std::ranges::replace(key, '-', ' ');
  return html::escaped(key) + (length ? " [Mpc/h]" : "");
}

using Facts = std::vector<std::pair<std::string, std::string>>;

Facts settings_of(const Json& config) {
  Facts facts;
  if (!config.is_object()) return facts;
  for (const auto& [key, value] : config.items()) {
    facts.emplace_back(key_text(key), value_text(key, value));
    if (key == "network" && value.is_object() && value.contains("baseline"))
      facts.emplace_back("baseline", key_text(value.at("baseline").get<std::string>()));
  }
  return facts;
}

/// What a stage did per second: its rate, useful Gflop/s, and their share of the peak.
using Rates = std::array<std::string, 3>;
constexpr const char* kUnknown = "—";

std::string no_text(const Report&, const Ancestor&) { return ""; }

Rates no_rates(const Ancestor&) { return {kUnknown, kUnknown, kUnknown}; }

std::string universes_text(const Report&, const Ancestor& suite) {
  const std::size_t count = suite.manifest.at("simulations").size();
  return html::paragraph(fmt::format("{} universe{}.", count, count == 1 ? "" : "s"));
}

/// The rate of the last run, which may have made the rest of a suite. Suites of 0.2 and before do not state how many that were.
Rates universes_per_hour(const Ancestor& suite) {
  if (!suite.run.contains("simulation")) return no_rates(suite);
  const Json& made = suite.run.at("simulation");
  const double rate = 3600 * made.at("universes").get<double>() / made.at("seconds").get<double>();
  return {fmt::format("{:.0f} universes/hour", rate), kUnknown, kUnknown};
}

/// The sources of a dataset that was joined from several; empty for one.
std::string joined_text(const Json& data) {
  const Json joined = data.value("joined", Json());
  if (joined.is_null()) return "";
  const bool alike = std::ranges::all_of(
      joined, [&](const Json& source) { return source.at("parameters") == joined.front().at("parameters"); });
  return html::paragraph(fmt::format(
      "Joined from {} sources.{}", joined.size(),
      alike
          ? ""
          : " Their ranges of parameters differ, so the labels are not flat over the ranges of all: what the "
            "network and its posterior expect before they see a universe is their mixture."));
}

/// One row per split.
std::string splits_table(const Report&, const Ancestor& data) {
  std::vector<html::Row> rows;
  for (const std::string_view name : dataset::kSplitNames) {
    const Json& split = data.manifest.at("splits").at(std::string(name));
    rows.push_back(
        {std::string(name),
         {fmt::format("{}", split.at("simulations").size()), value_text("", split.at("samples"))}});
  }
  return html::table("split", {"universes", "sub-volumes"}, rows) + joined_text(data.manifest);
}

/// How much of the predictions is the baseline's; empty without one.
std::string shares_text(const nn::ModelManifest& model) {
  const std::vector<double>& shares = model.validation.baseline_shares;
  std::string text;
  for (std::size_t p = 0; p < shares.size(); ++p)
    text += fmt::format("{}{} {:.2f}", p > 0 ? ", " : "", html_symbol(model.parameters.names[p]), shares[p]);
  return text.empty()
             ? ""
             : " Its predictions are mixed with those of a regression on summary statistics, whose share the "
               "validation split chose: " +
                   text + ".";
}

/// The network that predicted, layer by layer, and its chosen epoch; nothing of other trainings.
std::string network_text(const Report& report, const Ancestor& training) {
  const nn::ModelManifest& model = report.model;
  if (training.record.id != model.base.request.id()) return "";
  const nn::CheckpointRecord& best = model.best();
  const nn::NetworkCensus census = nn::take_census(model.network, model.input, model.outputs());
  return html::paragraph(fmt::format(
             "The weights are those after epoch {} of {}, which the validation loss chose{}.{}{}", best.epoch,
             model.epochs, best.validation_loss ? fmt::format(" ({:.4g})", *best.validation_loss) : "",
             model.complete ? "" : " The training is not finished.", shares_text(model))) +
         html::details("The network, layer by layer",
                       "<pre>" + html::escaped(nn::describe(model.network, census)) + "</pre>\n");
}

Rates training_rates(const Ancestor& training) {
  if (!training.run.contains("training")) return no_rates(training);
  const Json& steps = training.run.at("training");
  const char* const rate = steps.contains("samples_per_second") ? "samples_per_second" : "samples_per_s";
  return {fmt::format("{:.3g} samples/s", steps.at(rate).get<double>()),
          fmt::format("{:.3g}", steps.at("useful_gflops").get<double>()),
          fmt::format("{:.2g}", steps.at("fraction_of_peak").get<double>())};
}

/// A stage of manifest.json, and what a report takes from its manifest and its run.json; these throw Json::exception if
/// they have another form.
struct StageRow {
  std::string_view name;
  std::string_view title;
  std::string (*text)(const Report& report, const Ancestor& ancestor);  ///< markup above its settings
  Rates (*rates)(const Ancestor& ancestor);
};

/// Stages in the order in which they run. The first stands for all others, and for inputs without a manifest.
constexpr std::array<StageRow, 5> kStages = {
    {{"", "An input", &no_text, &no_rates},
     {"generate", "cosmo-sim: universes", &universes_text, &universes_per_hour},
     {"shard", "cosmo-prep: samples", &splits_table, &no_rates},
     {"train", "cosmo-train: network", &network_text, &training_rates},
     {"infer", "cosmo-infer: predictions", &no_text, &no_rates}}};

const StageRow& find_stage(std::string_view name) {
  const auto found = std::ranges::find(kStages, name, &StageRow::name);
  return found == kStages.end() ? kStages.front() : *found;
}

std::string heading_of(std::string_view stage) {
  return fmt::format("<h3>{}</h3>\n", find_stage(stage).title);
}

/// The settings of a stage under its heading.
std::string settings_text(const Report& report, const Ancestor& ancestor) {
  const std::string stage = ancestor.stage();
  std::string content = heading_of(stage);
  if (stage.empty()) {
    const bool ours = ancestor.record.path.ends_with(core::kManifestName);
    return content +
           html::paragraph(fmt::format("<code>{}</code> ({})", html::escaped(ancestor.record.path),
                                       ours ? "cannot be read any more: what was run there is not shown"
                                            : "files of another program: their origin is not known"),
                           "note");
  }
  try {
    content += find_stage(stage).text(report, ancestor);
    return content + html::facts(settings_of(ancestor.manifest.at("config")));
  } catch (const Json::exception&) {
    return content + html::paragraph("This version cannot read the form of its manifest.json.", "note");
  }
}

/// Ancestors in the order in which their stages ran.
std::vector<const Ancestor*> in_order(const std::vector<Ancestor>& ancestors) {
  std::vector<const Ancestor*> order;
  for (const Ancestor& ancestor : ancestors) order.push_back(&ancestor);
  std::ranges::stable_sort(order, {}, [](const Ancestor* one) { return &find_stage(one->stage()); });
  return order;
}

/// "2 × 1", or "—".
std::string ranks_text(const Json& run) {
  return fmt::format("{} × {}", run.at("ranks").get<int>(), run.at("threads").get<int>());
}

html::Row cost_row(const Ancestor& ancestor) {
  const StageRow& stage = find_stage(ancestor.stage());
  html::Row row{std::string(stage.title), std::vector<std::string>(5, kUnknown)};
  try {
    const double seconds =
        ancestor.run.at("finished_unix_s").get<double>() - ancestor.run.at("started_unix_s").get<double>();
    std::vector<std::string> cells = {core::format_duration(seconds), ranks_text(ancestor.run)};
    for (const std::string& rate : stage.rates(ancestor)) cells.push_back(rate);
    row.cells = cells;
  } catch (const Json::exception&) {  // no run.json, or one of another form: the dashes remain
  }
  return row;
}

}  // namespace

std::string settings_section(const Report& report, const std::vector<Ancestor>& ancestors) {
  std::string content;
  for (const Ancestor* ancestor : in_order(ancestors)) content += settings_text(report, *ancestor);
  content += heading_of("infer") + html::facts(settings_of(report.request.config));
  return html::section("settings", "What was run", html::details("Settings of each stage", content));
}

std::string costs_section(const Report& report, const std::vector<Ancestor>& ancestors) {
  std::vector<html::Row> rows;
  for (const Ancestor* ancestor : in_order(ancestors)) {
    if (!ancestor->stage().empty()) rows.push_back(cost_row(*ancestor));
  }
  const nn::ModelManifest& model = report.model;
  const nn::NetworkCensus census = nn::take_census(model.network, model.input, model.outputs());
  return html::section(
      "costs", "Costs",
      html::tall_table("stage", {"time", "ranks × threads", "rate", "useful Gflop/s", "of the peak"}, rows) +
          html::paragraph(
              fmt::format(
                  "From run.json of each stage; time and rate are those of its last run, if several made it. The peak is "
                  "what fused multiply-adds reached in the same run. A prediction takes {:.3g} Gflop per "
                  "sub-volume; what this inference took is in run.json beside this page. Of this "
                  "page only these figures and the day of the training depend on when and where it ran.",
                  static_cast<double>(census.forward_flop()) / 1e9),
              "note"));
}

std::string provenance_section(const Report& report, const std::vector<Ancestor>& ancestors) {
  std::string content;
  const auto code = [](const std::string& text) { return "<code>" + html::escaped(text) + "</code>"; };
  for (const Ancestor* ancestor : in_order(ancestors)) {
    Facts facts = {{"manifest", code(ancestor->record.path)},
                   {"id", code(ancestor->record.id)},
                   {"sha256", code(ancestor->record.sha256)}};
    const std::string state = ancestor->unchanged            ? "unchanged"
                              : ancestor->manifest.is_null() ? "cannot be read any more"
                                                             : "written again since, with the same id";
    if (ancestor->manifest.is_object() && ancestor->manifest.contains("code")) {
      const Json& program = ancestor->manifest.at("code");
      if (program.is_object())
        facts.emplace_back("program",
                           code(fmt::format("{} {} ({})", value_text("", program.value("name", Json(""))),
                                            value_text("", program.value("version", Json(""))),
                                            value_text("", program.value("git", Json(""))))));
    }
    facts.emplace_back("the manifest since then", state);
    content += heading_of(ancestor->stage()) + html::facts(facts, "long");
  }
  content += heading_of("infer") +
             html::facts(
                 {{"id", code(report.request.id())},
                  {"checkpoint sha256", code(report.model.best().sha256)},
                  {"program", code(fmt::format("cosmo-infer {} ({})", core::version(), core::git_commit()))}},
                 "long");
  return html::section("provenance", "Provenance", html::details("Identities of each stage", content));
}

}  // namespace cosmo::infer
