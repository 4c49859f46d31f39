#include "infer/report/origin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

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

/// "box_mpc_h" is "box [Mpc/h]", omega_m its symbol, others have spaces.
std::string key_text(std::string key) {
  if (core::find_cosmology_parameter(key) != nullptr) return html_symbol(key);
  constexpr std::string_view kUnit = "_mpc_h";
  const bool length = key.ends_with(kUnit);
  if (length) key.resize(key.size() - kUnit.size());
  std::ranges::replace(key, '_', ' ');
  return html::escaped(key) + (length ? " [Mpc/h]" : "");
}

using Facts = std::vector<std::pair<std::string, std::string>>;

Facts settings_of(const Json& config) {
  Facts facts;
  if (!config.is_object()) return facts;
  for (const auto& [key, value] : config.items()) facts.emplace_back(key_text(key), value_text(key, value));
  return facts;
}

/// One row per split, from the manifest of a dataset.
std::string splits_table(const Json& manifest) {
  std::vector<html::Row> rows;
  for (const std::string_view name : dataset::kSplitNames) {
    const Json& split = manifest.at("splits").at(std::string(name));
    rows.push_back(
        {std::string(name),
         {fmt::format("{}", split.at("simulations").size()), value_text("", split.at("samples"))}});
  }
  return html::table("split", {"universes", "sub-volumes"}, rows);
}

/// The network, layer by layer, and its chosen epoch.
std::string network_text(const nn::ModelManifest& model) {
  const nn::CheckpointRecord& best = model.best();
  const nn::NetworkCensus census = nn::take_census(model.network, model.input, model.outputs());
  return html::paragraph(fmt::format(
             "The weights are those after epoch {} of {}, which the validation loss chose{}.{}", best.epoch,
             model.epochs, best.validation_loss ? fmt::format(" ({:.4g})", *best.validation_loss) : "",
             model.complete ? "" : " The training is not finished.")) +
         html::details("The network, layer by layer",
                       "<pre>" + html::escaped(nn::describe(model.network, census)) + "</pre>\n");
}

std::string of_stage(const Report& report, const Ancestor& ancestor) {
  const std::string stage = ancestor.stage();
  std::string content = "<h3>" + stage_title(stage) + "</h3>\n";
  if (stage.empty()) {
    const bool ours = ancestor.record.path.ends_with(core::kManifestName);
    return content +
           html::paragraph(fmt::format("<code>{}</code> ({})", html::escaped(ancestor.record.path),
                                       ours ? "cannot be read any more: what was run there is not shown"
                                            : "files of another program: their origin is not known"),
                           "note");
  }
  try {
    if (stage == "generate") {
      const std::size_t count = ancestor.manifest.at("simulations").size();
      content += html::paragraph(fmt::format("{} universe{}.", count, count == 1 ? "" : "s"));
    }
    if (stage == "shard") content += splits_table(ancestor.manifest);
    if (stage == "train" && ancestor.record.id == report.model.base.request.id())
      content += network_text(report.model);
    return content + html::facts(settings_of(ancestor.manifest.at("config")));
  } catch (const Json::exception&) {
    return content + html::paragraph("This version cannot read the form of its manifest.json.", "note");
  }
}

/// Stages in the order in which they ran, the inference being the last.
std::vector<const Ancestor*> in_order(const std::vector<Ancestor>& ancestors) {
  std::vector<const Ancestor*> order;
  for (const Ancestor& ancestor : ancestors) order.push_back(&ancestor);
  const auto turn = [](const Ancestor* ancestor) {
    const std::string stage = ancestor->stage();
    return stage == "generate" ? 1 : stage == "shard" ? 2 : stage == "train" ? 3 : 0;
  };
  std::ranges::stable_sort(order, {}, turn);
  return order;
}

/// "2 × 1", or "—".
std::string ranks_text(const Json& run) {
  return fmt::format("{} × {}", run.at("ranks").get<int>(), run.at("threads").get<int>());
}

/// What a stage did per second: its rate, useful Gflop/s, and their share of the peak.
std::vector<std::string> rates_of(const Ancestor& ancestor, double seconds) {
  const Json& run = ancestor.run;
  if (run.contains("training")) {
    const Json& training = run.at("training");
    return {fmt::format("{:.3g} samples/s", training.at("samples_per_s").get<double>()),
            fmt::format("{:.3g}", training.at("useful_gflops").get<double>()),
            fmt::format("{:.2g}", training.at("fraction_of_peak").get<double>())};
  }
  if (ancestor.stage() != "generate" || seconds <= 0) return {"—", "—", "—"};
  const auto universes = static_cast<double>(ancestor.manifest.at("simulations").size());
  return {fmt::format("{:.3g} universes/hour", 3600 * universes / seconds), "—", "—"};
}

html::Row cost_row(const Ancestor& ancestor) {
  html::Row row{stage_title(ancestor.stage()), {"—", "—", "—", "—", "—"}};
  try {
    const double seconds =
        ancestor.run.at("finished_unix_s").get<double>() - ancestor.run.at("started_unix_s").get<double>();
    std::vector<std::string> cells = {core::format_duration(seconds), ranks_text(ancestor.run)};
    for (const std::string& rate : rates_of(ancestor, seconds)) cells.push_back(rate);
    row.cells = cells;
  } catch (const Json::exception&) {  // no run.json, or one of another form: the dashes remain
  }
  return row;
}

}  // namespace

std::string stage_title(const std::string& stage) {
  const std::map<std::string, std::string> kTitles = {{"generate", "cosmo-sim: universes"},
                                                      {"shard", "cosmo-prep: samples"},
                                                      {"train", "cosmo-train: network"},
                                                      {"infer", "cosmo-infer: predictions"}};
  const auto found = kTitles.find(stage);
  return found == kTitles.end() ? "An input" : found->second;
}

std::string settings_section(const Report& report, const std::vector<Ancestor>& ancestors) {
  std::string content;
  for (const Ancestor* ancestor : in_order(ancestors)) content += of_stage(report, *ancestor);
  content += "<h3>" + stage_title("infer") + "</h3>\n" + html::facts(settings_of(report.request.config));
  return html::section("settings", "What was run", content);
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
                  "From run.json of each stage; for one that was interrupted, of its last run. The peak is "
                  "what fused multiply-adds reached in the same run. A prediction takes {:.3g} Gflop per "
                  "sub-volume; what this inference took is in run.json beside this page. The page itself is "
                  "the same on any machine and number of ranks.",
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
    std::string state = ancestor->unchanged            ? "as it was then"
                        : ancestor->manifest.is_null() ? "cannot be read any more"
                                                       : "was written again since, with the same id";
    if (ancestor->manifest.is_object() && ancestor->manifest.contains("code")) {
      const Json& program = ancestor->manifest.at("code");
      if (program.is_object())
        facts.emplace_back("program",
                           code(fmt::format("{} {} ({})", value_text("", program.value("name", Json(""))),
                                            value_text("", program.value("version", Json(""))),
                                            value_text("", program.value("git", Json(""))))));
    }
    facts.emplace_back("now", state);
    content += "<h3>" + stage_title(ancestor->stage()) + "</h3>\n" + html::facts(facts, "long");
  }
  content += "<h3>" + stage_title("infer") + "</h3>\n" +
             html::facts(
                 {{"id", code(report.request.id())},
                  {"checkpoint sha256", code(report.model.best().sha256)},
                  {"program", code(fmt::format("cosmo-infer {} ({})", core::version(), core::git_commit()))}},
                 "long");
  return html::section("provenance", "Provenance", content);
}

}  // namespace cosmo::infer
