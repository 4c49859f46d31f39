#include "infer/report/report.hpp"

#include <fmt/format.h>

#include "core/version.hpp"
#include "infer/report/metric.hpp"
#include "infer/report/results.hpp"
#include "infer/report/stage_sections.hpp"

namespace cosmo::infer {

namespace {

std::string head(const Report& report) {
  std::string html;
  if (!report.warning.empty()) {
    html += fmt::format("<div class=\"alarm\" role=\"alert\">{}</div>\n", html::escaped(report.warning));
  }
  for (const core::Json& doubt : report.metrics.value("warnings", core::Json::array()))
    html += fmt::format("<div class=\"doubt\">{}</div>\n", html::escaped(doubt.get<std::string>()));
  html += "<h1>Cosmological parameters from particle counts</h1>\n";
  return html + html::paragraph(fmt::format("The network <b>{}</b> on {} of {} ({} data), next to "
                                            "methods that it has to beat. Written by cosmo-infer {}.",
                                            html::escaped(report.model.network.name),
                                            counted(report.metrics, {"samples"}, "sub-volumes"),
                                            counted(report.metrics, {"universes"}, "universes"),
                                            html::escaped(report.split), html::escaped(core::version())),
                                "lead");
}

std::string training_section(const std::vector<html::Figure>& loss, int choice_epochs) {
  if (loss.empty()) return "";
  const std::string averaged =
      choice_epochs > 1 ? fmt::format(", averaged over the {} epochs up to it,", choice_epochs) : "";
  return html::section(
      "training", "Training",
      html::gallery(
          loss,
          fmt::format(
              "Loss after each epoch on training and validation samples. The network that predicts, with the "
              "circle, is that of the epoch whose validation loss{} is the smallest, so that loss is a little too "
              "good; the errors above are on universes that had no part in that choice, unless a warning at the "
              "top states otherwise.",
              averaged),
          "one"));
}

}  // namespace

std::vector<const html::Figure*> ReportFigures::all() const {
  std::vector<const html::Figure*> figures;
  for (const auto* group : {&errors, &predictions, &calibration, &loss, &universes}) {
    for (const html::Figure& figure : *group) figures.push_back(&figure);
  }
  return figures;
}

std::string report_html(const Report& report, const ReportFigures& figures,
                        const std::vector<Ancestor>& ancestors) {
  std::string content = head(report);
  content += errors_section(report, figures.errors);
  content += predictions_section(report, figures.predictions);
  content += paired_section(report);
  content += uncertainty_section(report, figures.calibration);
  content += measures_section(report);
  content += training_section(figures.loss, report.model.choice_epochs);
  if (!figures.universes.empty()) {
    content += html::section("universes", "Some of the universes",
                             html::gallery(figures.universes, figures.universes_caption, "slices"));
  }
  content += settings_section(report, ancestors);
  content += costs_section(report, ancestors);
  content += provenance_section(report, ancestors);
  return html::page("Cosmological parameters from particle counts", content);
}

}  // namespace cosmo::infer
