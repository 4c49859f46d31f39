#include "infer/report/report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "core/version.hpp"
#include "infer/report/fiducial.hpp"
#include "infer/report/figure/symbol.hpp"
#include "infer/report/outcome.hpp"
#include "infer/report/page/metric.hpp"
#include "infer/report/results.hpp"
#include "infer/report/setting_section.hpp"
#include "infer/report/stage_sections.hpp"

namespace cosmo::infer {

namespace {

/// "Predictions of omega_m, sigma8", each parameter as `symbol` writes it.
std::string title_text(const Report& report, std::string (*symbol)(const std::string&)) {
  std::string text = "Predictions of";
  for (const std::string& name : report.methods.front().universes.parameters.names)
    text += (text.ends_with("of") ? " " : ", ") + symbol(name);
  return text;
}

/// The directories of inputs [first, last).
std::string paths_of(const Report& report, std::size_t first, std::size_t last) {
  std::string text;
  for (std::size_t i = first; i < std::min(last, report.request.inputs.size()); ++i)
    text += fmt::format(
        "{}<code>{}</code>", text.empty() ? "" : ", ",
        html::escaped(std::filesystem::path(report.request.inputs[i].path).parent_path().string()));
  return text;
}

/// ", trained on 2026-11-27": when the first network's last run ended; empty if that is not known.
std::string trained_text(const std::vector<Ancestor>& ancestors) {
  const auto training = std::ranges::find(ancestors, "train", &Ancestor::stage);
  if (training == ancestors.end() || !training->run.is_object()) return "";
  const auto finished = training->run.find("finished_unix_s");
  if (finished == training->run.end() || !finished->is_number()) return "";
  return fmt::format(", trained on {:%Y-%m-%d}",
                     fmt::gmtime(static_cast<std::time_t>(finished->get<double>())));
}

std::string head(const Report& report, const std::vector<Ancestor>& ancestors) {
  std::string html;
  if (!report.warning.empty()) html += html::alarm(report.warning);
  for (const core::Json& doubt : report.metrics.value("warnings", core::Json::array()))
    html += html::doubt(doubt.get<std::string>());
  html += "<h1>" + title_text(report, &html_symbol) + "</h1>\n";
  html += html::paragraph(outcome_text(report), "lead");
  const std::size_t models =
      std::max<std::size_t>(2, report.request.inputs.size()) - 1;  // the last is the data
  return html +
         html::paragraph(
             fmt::format("{} <b>{}</b> of {}{}, on {} of {} ({} data of {}). Written by cosmo-infer {}.",
                         models > 1 ? fmt::format("The mean of {} networks", models) : "The network",
                         html::escaped(report.model.network.name), paths_of(report, 0, models),
                         trained_text(ancestors), counted(report.metrics, {"samples"}, "sub-volumes"),
                         counted(report.metrics, {"universes"}, "universes"), html::escaped(report.split),
                         paths_of(report, models, models + 1), html::escaped(core::version())),
             "note");
}

/// What the loss figure shows of a network that is mixed with a baseline.
std::string mixture_text(bool both_alone) {
  if (both_alone)
    return " Both are those of the network alone, without the regression that its predictions are mixed with.";
  return " The curves are of two quantities: on training samples the loss of the network alone, on validation samples "
         "that of its mixture with a regression.";
}

std::string training_section(const ReportFigures& figures, const nn::ModelManifest& model) {
  if (figures.loss.empty()) return "";
  const bool mixed = !model.network.baseline.empty();
  const std::string averaged =
      model.choice_epochs > 1 ? fmt::format(", averaged over the {} epochs up to it,", model.choice_epochs)
                              : "";
  return html::section(
      "training", "Training",
      html::gallery(
          figures.loss,
          fmt::format(
              "Loss after each epoch on training and validation samples.{} The network that predicts, with the "
              "circle, is that of the epoch whose validation loss{}{} is the smallest, so that loss is a little too "
              "good; the errors above are on universes that had no part in that choice, unless a warning at the "
              "top states otherwise.",
              mixed ? mixture_text(figures.losses_alone) : "", mixed ? " of the mixture" : "", averaged),
          "one"));
}

std::string posterior_section(const Report& report, const std::vector<html::Figure>& corner) {
  if (corner.empty()) return "";
  const dataset::PredictionRow& row = report.methods.front().universes.rows[report.drawn];
  return html::details(
      "The posterior of one universe",
      html::gallery(
          corner,
          fmt::format("{} draws from the posterior of universe {}, whose deviations are closest to the "
                      "median of all, over the parameters’ ranges; lines are at the truth. "
                      "<code>cosmo-infer --samples N</code> writes draws for every universe, and chains "
                      "for GetDist.",
                      report.draws.size() / row.truth.size(), row.simulation),
          "one"));
}

}  // namespace

std::vector<const html::Figure*> ReportFigures::all() const {
  std::vector<const html::Figure*> figures;
  for (const auto* group : {&errors, &predictions, &calibration, &settings, &corner, &loss, &universes}) {
    for (const html::Figure& figure : *group) figures.push_back(&figure);
  }
  return figures;
}

std::string report_html(const Report& report, const ReportFigures& figures,
                        const std::vector<Ancestor>& ancestors) {
  std::string content = head(report, ancestors);
  content += fiducial_section(report);
  content += errors_section(report, figures.errors);
  content += predictions_section(report, figures.predictions);
  content += paired_section(report);
  content += uncertainty_section(report, figures.calibration);
  content += setting_section(report, figures.settings);
  content += posterior_section(report, figures.corner);
  content += measures_section(report);
  content += training_section(figures, report.model);
  if (!figures.universes.empty()) {
    content += html::section("universes", "Some of the universes",
                             html::gallery(figures.universes, figures.universes_caption, "slices"));
  }
  content += settings_section(report, ancestors);
  content += costs_section(report, ancestors);
  content += provenance_section(report, ancestors);
  return html::page(title_text(report, [](const std::string& name) { return name; }), content);
}

}  // namespace cosmo::infer
