#include <fmt/format.h>

#include "core/error.hpp"
#include "core/file/input_file.hpp"
#include "core/picture/png.hpp"
#include "infer/report/calibration_figures.hpp"
#include "infer/report/figure/corner_figure.hpp"
#include "infer/report/figure/error_figure.hpp"
#include "infer/report/figure/prediction_figure.hpp"
#include "infer/report/figure/symbol.hpp"
#include "infer/report/figure/universe_slices.hpp"
#include "infer/report/page/metric.hpp"
#include "infer/report/report.hpp"
#include "infer/report/results.hpp"
#include "infer/report/setting_section.hpp"

namespace cosmo::infer {

namespace {

html::Figure errors_of(const Report& report, const std::string& name) {
  std::vector<MethodError> errors;
  for (std::size_t m = 0; m < report.methods.size(); ++m) {
    const std::string& key = report.methods[m].key;
    MetricPath path = m == 0 ? MetricPath{key} : MetricPath{"baselines", key};
    path.insert(path.end(), {name, "scaled_error"});
    const auto value = number_at(report.metrics, path);
    path.back() += "_se";
    if (value) errors.push_back({report.methods[m].title, *value, number_at(report.metrics, path)});
  }
  const auto forecast = number_at(report.metrics, {"forecast", "power_spectrum", name, "scaled_error"});
  return {html::figure_file("errors", name), error_figure(name, svg_symbol(name), errors, forecast),
          fmt::format("Errors of {} by method", name), ""};
}

html::Figure predictions_of(const Report& report, std::size_t p) {
  const dataset::PredictionTable& universes = report.methods.front().universes;
  const std::string& name = universes.parameters.names[p];
  std::optional<double> band = forecast_sigma(report.metrics, name);
  if (!band && universes.rows.size() > 1) band = number_at(report.metrics, {"network", name, "rmse"});
  return {html::figure_file("predicted", name), prediction_figure(universes, p, band),
          fmt::format("Predicted against true {}", name), ""};
}

/// The content of a file of the model.
std::string text_of(const std::filesystem::path& model, const core::FileRecord& record) {
  return core::read_checked(
      model, record, [&](const std::filesystem::path& path) { return core::read_text(path, record.bytes); });
}

/// The model's loss figure, if its manifest lists one.
std::vector<html::Figure> loss_of(const Report& report, const std::filesystem::path& model) {
  const core::FileRecord* record = report.model.base.find("loss.svg");
  if (record == nullptr) return {};
  return {{"figures/loss.svg", text_of(model, *record), "Loss against epoch", ""}};
}

/// Whether the loss figure shows the network without its baseline, as it does where history.csv has that loss of the
/// validation samples; earlier versions had and drew that of the mixture.
bool losses_are_alone(const Report& report, const std::filesystem::path& model) {
  const core::FileRecord* record = report.model.base.find("history.csv");
  if (record == nullptr) return false;
  const std::string history = text_of(model, *record);
  return history.substr(0, history.find('\n')).ends_with(",validation_loss_alone");
}

/// "#0a0b0c 12%"
std::string colour_stops() {
  const core::Palette palette = core::density_palette();
  std::string stops;
  constexpr std::size_t kStops = 15;
  for (std::size_t i = 0; i <= kStops; ++i) {
    const auto& [red, green, blue] = palette[i * (palette.size() - 1) / kStops];
    stops += fmt::format(", #{:02x}{:02x}{:02x}", red, green, blue);
  }
  return stops.substr(2);
}

std::string caption_of(const dataset::PredictionRow& row, const core::ParameterSpace& parameters) {
  std::string text = fmt::format("<b>{}</b>", row.simulation);
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    text += fmt::format("<br>{} {:#.4g} <span class=\"se\">predicted {:#.4g}</span>",
                        html_symbol(parameters.names[p]), row.truth[p], row.prediction[p]);
  }
  return text;
}

void add_universes(const Report& report, const ReportSources& sources, ReportFigures& figures) {
  const dataset::PredictionTable& universes = report.methods.front().universes;
  std::size_t sorted_by = 0;
  std::vector<std::uint32_t> simulations;
  const std::vector<std::size_t> chosen = choose_universes(universes, sorted_by);
  for (const std::size_t u : chosen) simulations.push_back(universes.rows[u].simulation);
  // Imported samples need not be the cuts of one box.
  const UniverseSlices drawn = draw_universes(sources.reader, report.methods.front().subvolumes, simulations,
                                              sources.data.origin.cut ? sources.data.subvolumes : 1);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const dataset::PredictionRow& row = universes.rows[chosen[i]];
    figures.universes.push_back({fmt::format("figures/universe_{:05}.png", row.simulation), drawn.images[i],
                                 fmt::format("Slice of universe {}", row.simulation),
                                 caption_of(row, universes.parameters)});
  }
  const dataset::SampleSpec& spec = sources.data.spec;
  const bool counts = spec.input.kind == dataset::VoxelKind::counts;
  figures.universes_caption = fmt::format(
      "Slices of {0:.4g} × {0:.4g} × {1:.3g} {2} averaged over their depth, at z = {3:g}, by number of the "
      "simulation{4}. {11} {5} and {6}; universes of other seeds differ by chance too, so one "
      "slice shows little of its parameters."
      "<span class=\"bar\" style=\"display:block;background:linear-gradient(to right, {7})\"></span>"
      "<span class=\"bar-ends\"><span>{8:.2g}</span><span>{10}</span><span>{9:.2g}</span></span>",
      drawn.side, drawn.depth, name_of(spec.box_size.unit), spec.input.redshifts.front(),
      chosen.size() == 1 ? ""
                         : fmt::format(": from the smallest to the largest {} in equal steps of rank",
                                       html_symbol(universes.parameters.names[sorted_by])),
      counts ? "of the density over its mean" : "of the value of the voxels",
      drawn.logarithmic ? "logarithmic" : "linear", colour_stops(), drawn.low, drawn.high,
      counts ? "density / mean" : "value",
      chosen.size() == 1 ? "The colours are" : "All have the same colours,");
}

ReportFigures draw(const Report& report, const ReportSources& sources) {
  ReportFigures figures;
  const std::vector<std::string>& names = report.methods.front().universes.parameters.names;
  for (std::size_t p = 0; p < names.size(); ++p) {
    figures.errors.push_back(errors_of(report, names[p]));
    figures.predictions.push_back(predictions_of(report, p));
  }
  figures.calibration = calibration_figures(report);
  figures.settings = setting_figures(report);
  if (!report.draws.empty()) {
    const dataset::PredictionTable& universes = report.methods.front().universes;
    figures.corner = {{"figures/posterior.svg",
                       corner_figure(universes.parameters, report.draws, universes.rows[report.drawn].truth),
                       "Posterior of one universe", ""}};
  }
  figures.loss = loss_of(report, sources.model);
  figures.losses_alone = losses_are_alone(report, sources.model);
  add_universes(report, sources, figures);
  return figures;
}

}  // namespace

void publish_report(const core::Communicator& comm, const Report& report, const ReportSources& sources,
                    core::OutputDirectory& output) {
  ReportFigures figures;
  std::string page;
  comm.agree([&] {
    figures = draw(report, sources);
    page = report_html(report, figures, trace(output.path(), report.request.inputs));
  });
  for (const html::Figure* figure : figures.all()) output.add_text(figure->file, figure->content);
  output.add_text("report.html", page);
}

}  // namespace cosmo::infer
