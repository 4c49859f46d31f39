#include "infer/field/class_page.hpp"

#include <fmt/format.h>

#include "core/universe/cosmic_web.hpp"

namespace cosmo::infer {

namespace {

std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.2f} %", 100 * part / whole) : "";
}

std::string definition_of(const nn::ModelManifest& model) {
  const auto& web = model.target->web;
  if (!web) return "";
  return fmt::format(
      "A voxel's class is the number of eigenvalues above {:g} of the tidal tensor of the density smoothed by {:g} Mpc/h. ",
      web->threshold, web->radius);
}

std::string table_of_classes(const ClassMetrics& metrics) {
  const ClassOutcome &network = metrics.network, &finder = metrics.finder;
  const auto all = static_cast<double>(network.confusion.sum());
  std::vector<html::Row> rows;
  for (std::size_t c = 0; c < ClassFigures::kClasses; ++c)
    rows.push_back({std::string(core::kWebClasses[c]),
                    {percent(static_cast<double>(network.confusion.of_truth(c)), all),
                     percent(static_cast<double>(network.confusion.of_predicted(c)), all),
                     with_error(network.value.f1[c], network.error.f1[c]),
                     with_error(network.value.iou[c], network.error.iou[c]),
                     with_error(finder.value.f1[c], finder.error.f1[c]),
                     with_error(metrics.gain.f1[c], metrics.gain_error.f1[c])}});
  return html::table(
      "class", {"volume", "predicted", "network F1", "network IoU", "finder F1", "F1 less finder's"}, rows);
}

std::string table_of_all(const ClassMetrics& metrics) {
  const ClassOutcome &network = metrics.network, &finder = metrics.finder;
  std::vector<html::Row> rows;
  const auto add = [&](const char* name, double ClassFigures::*figure) {
    rows.push_back({name,
                    {with_error(network.value.*figure, network.error.*figure),
                     with_error(finder.value.*figure, finder.error.*figure),
                     with_error(metrics.gain.*figure, metrics.gain_error.*figure)}});
  };
  add("macro F1", &ClassFigures::macro_f1);
  add("MCC", &ClassFigures::mcc);
  add("MCC of void against rest", &ClassFigures::mcc_void);
  return html::table("all classes",
                     {"network", fmt::format("finder, R = {:g}", finder.smoothing), "difference"}, rows);
}

std::string table_of_confusion(const dataset::Confusion& confusion) {
  std::vector<html::Row> rows;
  std::vector<std::string> columns;
  for (std::size_t truth = 0; truth < ClassFigures::kClasses; ++truth) {
    columns.push_back("predicted " + std::string(core::kWebClasses[truth]));
    html::Row& row = rows.emplace_back(html::Row{std::string(core::kWebClasses[truth]), {}});
    for (const std::uint64_t voxels : confusion.voxels[truth])
      row.cells.push_back(
          percent(static_cast<double>(voxels), static_cast<double>(confusion.of_truth(truth))));
  }
  return html::table("true class", columns, rows);
}

}  // namespace

std::vector<html::Figure> class_figures(const ClassPage& page) {
  const FieldSlices& slices = page.slices;
  constexpr double kLast = ClassFigures::kClasses - 1;
  const dataset::ColourScale counts = dataset::colour_scale({slices.input}), classes{0, kLast, false},
                             differences{-kLast, kLast, false};
  return {slice_figure("input", "input", slices.input, counts),
          slice_figure("truth", "truth", slices.truth, classes),
          slice_figure("prediction", "prediction", slices.prediction, classes),
          slice_figure("difference", "prediction less truth", difference(slices.prediction, slices.truth),
                       differences)};
}

std::string class_html(const ClassPage& page, const std::vector<html::Figure>& figures) {
  const ClassMetrics& metrics = page.metrics;
  std::string content =
      page_head(metrics.quantity + ": predicted classes", outcome_of(metrics), page.alarm, page.doubts);
  content += html::section(
      "agreement", "Agreement, class by class",
      table_of_classes(metrics) + table_of_all(metrics) +
          html::paragraph(fmt::format(
              "{}All voxels of {} universes, with standard errors over universes. IoU: intersection over union of the true and the "
              "predicted voxels; MCC: Matthews' correlation. The finder takes the counts for the density; its R has the largest "
              "macro F1 of {} on these universes.",
              definition_of(page.model), metrics.universes, metrics.smoothings.size())));
  content += html::section(
      "confusion", "Confusion",
      table_of_confusion(metrics.network.confusion) + html::paragraph("Of the voxels of each true class."));
  content += html::section(
      "slices", "One universe",
      html::gallery(
          figures,
          fmt::format(
              "Simulation {}: the input, averaged along x over an eighth of the box, and the classes of "
              "its first plane: void black, wall purple, filament orange, node pale yellow. Their "
              "difference is red where there is none, darker where too few axes have collapsed, paler where too many.",
              page.slices.simulation)));
  content += page_origin(page.data, page.split, page.model);
  return html::page("Predicted classes", content);
}

}  // namespace cosmo::infer
