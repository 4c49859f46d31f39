#include "infer/compare/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/version.hpp"
#include "infer/compare/curve_figure.hpp"
#include "infer/report/figure/error_figure.hpp"
#include "infer/report/figure/symbol.hpp"
#include "infer/report/page/html.hpp"

namespace cosmo::infer {

using html::escaped;

namespace {

constexpr std::size_t kMostInFigures = 12;  ///< runs that have a line each in the figures of errors

/// What came out, in one sentence made of the numbers.
std::string lead(const SideBySide& all) {
  if (!all.comparable) return "The errors are of different universes, so no run can be called the best.";
  std::map<std::vector<std::size_t>, std::vector<std::string>> best;  // of runs, equal ones together
  for (const std::string& name : all.parameters) {
    const std::vector<std::size_t> runs = smallest_errors(all, name);
    if (runs.empty()) continue;
    const ParameterError* error = error_of(all.runs[runs.front()], name);
    best[runs].push_back(fmt::format("{} ({:.3f})", html_symbol(name), *error->scaled));
  }
  if (best.empty()) return "None of the runs has errors yet.";
  std::string text;
  for (const auto& [runs, errors] : best) {
    std::vector<std::string> labels;
    for (const std::size_t run : runs)
      labels.push_back(fmt::format("<b>{}</b>", escaped(all.runs[run].label)));
    text +=
        fmt::format("{}{} in {}", text.empty() ? "" : "; ", fmt::join(labels, ", "), fmt::join(errors, ", "));
  }
  const int universes = std::ranges::min(all.runs, {}, &ComparedRun::number).number;
  return fmt::format(
      "The smallest rms errors, over the standard deviation of the training labels (predicting their mean gives 1): {}.{}",
      text,
      universes > 0
          ? fmt::format(
                " Of {} universes an error is known to {:.0f} %, so runs that differ by less may be alike.",
                universes, 100 / std::sqrt(2.0 * universes))
          : "");
}

std::string head_text(const SideBySide& all) {
  std::string content = fmt::format("<h1>{} runs side by side</h1>\n", all.runs.size());
  content += html::paragraph(lead(all), "lead");
  content += html::paragraph(fmt::format("Written by cosmo-infer {}.", escaped(core::version())), "note");
  for (const std::string& note : all.notes) content += html::doubt(note);
  for (const std::string& remark : all.remarks) content += html::paragraph(escaped(remark), "note");
  return content;
}

std::string runs_section(const SideBySide& all) {
  std::vector<html::Row> rows;
  for (const ComparedRun& run : all.runs)
    rows.push_back(
        {escaped(run.label),
         {run.is_training ? "training" : "predictions", escaped(run.network.empty() ? "?" : run.network),
          run.epochs == 0 ? "?" : fmt::format("{} of {}", run.epochs_done, run.epochs),
          run.chosen ? fmt::format("{}", *run.chosen) : "—",
          run.universes.empty() ? "nothing yet" : escaped(run.universes)}});
  std::vector<std::pair<std::string, std::string>> paths;
  for (const ComparedRun& run : all.runs)
    paths.emplace_back(escaped(run.label),
                       fmt::format("<code>{}</code> {}", escaped(run.path), escaped(run.id.substr(0, 15))));
  return html::section("runs", "Runs",
                       html::tall_table("run", {"kind", "network", "epochs", "chosen", "errors of"}, rows) +
                           html::details("Directories and ids", html::facts(paths, "long")));
}

std::string error_cell_html(const ParameterError* error, bool smallest) {
  if (error == nullptr || !error->scaled || !std::isfinite(*error->scaled)) return "—";
  std::string text = fmt::format("{:.3f}", *error->scaled);
  if (smallest) text = "<b>" + text + "</b>";
  if (error->standard_error)
    text += fmt::format(" <span class=\"se\">± {:.3f}</span>", *error->standard_error);
  return text;
}

std::string errors_section_of(const SideBySide& all) {
  std::vector<std::string> columns;
  for (const std::string& name : all.parameters) columns.push_back(html_symbol(name));
  std::vector<html::Row> rows;
  for (std::size_t r = 0; r < all.runs.size(); ++r) {
    html::Row& row = rows.emplace_back(html::Row{escaped(all.runs[r].label), {}});
    for (const std::string& name : all.parameters)
      row.cells.push_back(error_cell_html(error_of(all.runs[r], name),
                                          std::ranges::count(smallest_errors(all, name), r) > 0));
  }
  std::string content = html::table("run", columns, rows);
  content += html::paragraph(
      "Rms error of universes over the standard deviation of the training labels: predicting their mean gives 1. The smallest "
      "is bold, where all are of the same universes.",
      "note");
  std::vector<html::Figure> figures;
  for (const std::string& name : all.parameters) {
    std::vector<MethodError> errors;
    for (const ComparedRun& run : all.runs) {
      const ParameterError* error = error_of(run, name);
      if (error != nullptr && error->scaled && std::isfinite(*error->scaled))
        errors.push_back({run.label, *error->scaled, error->standard_error});
    }
    if (errors.empty() || errors.size() > kMostInFigures) continue;
    figures.push_back({html::figure_file("errors", name),
                       error_figure(name, svg_symbol(name), errors, std::nullopt),
                       fmt::format("Errors in {} by run", name), ""});
  }
  if (!figures.empty())
    content += html::gallery(figures, "The errors of the table; bars are standard errors, where known.");
  return html::section("errors", "Errors", content);
}

std::string settings_section_of(const SideBySide& all) {
  if (all.settings.empty())
    return html::section("settings", "Settings", html::paragraph("No setting differs between the runs."));
  std::vector<std::string> columns;
  for (const ComparedRun& run : all.runs) columns.push_back(escaped(run.label));
  std::vector<html::Row> rows;
  for (const DifferingSetting& setting : all.settings) {
    html::Row& row = rows.emplace_back(html::Row{escaped(setting.name), {}});
    for (const core::Json& value : setting.values)
      row.cells.push_back(value.is_null() ? "—" : escaped(setting_text(value)));
  }
  return html::section(
      "settings", "Settings that differ",
      html::tall_table("setting", columns, rows) +
          html::paragraph("— where a run does not have the setting. Those of the data and of the suite "
                          "that it was made from begin with data and suite.",
                          "note"));
}

/// One figure of the errors, which any losses have in common, and one of each loss.
std::string curves_section(const SideBySide& all) {
  std::vector<Curve> errors;
  std::map<std::string, std::vector<Curve>> losses;
  for (const ComparedRun& run : all.runs) {
    Curve error{run.label, {}, run.chosen}, loss = error;
    for (const CurvePoint& point : run.curve) {
      if (point.scaled_error) error.points.emplace_back(point.epoch, *point.scaled_error);
      loss.points.emplace_back(point.epoch, point.validation_loss);
    }
    if (!error.points.empty()) errors.push_back(error);
    if (!loss.points.empty()) losses[run.loss].push_back(loss);
  }
  std::vector<html::Figure> figures;
  const auto add = [&](const std::string& title, const std::string& quantity,
                       const std::vector<Curve>& curves) {
    const std::string image = curve_figure(title, quantity, curves);
    if (!image.empty()) figures.push_back({"curves.svg", image, title, ""});
  };
  add("Rms error of the validation universes", "error / deviation of the labels", errors);
  for (const auto& [loss, curves] : losses)
    add(fmt::format("Validation loss ({})", loss), "validation loss", curves);
  if (figures.empty()) return "";
  return html::section(
      "curves", "Learning curves",
      html::gallery(
          figures,
          "After each epoch, errors as the mean over the parameters; the circle is the epoch whose weights predict. Values above fifty "
          "times the smallest are drawn at the top.",
          "one"));
}

}  // namespace

std::string comparison_page(const SideBySide& all) {
  return html::page(fmt::format("{} runs side by side", all.runs.size()),
                    head_text(all) + errors_section_of(all) + settings_section_of(all) + curves_section(all) +
                        runs_section(all));
}

}  // namespace cosmo::infer
