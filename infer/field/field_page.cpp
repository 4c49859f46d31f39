#include "infer/field/field_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/picture/svg_plot.hpp"
#include "core/version.hpp"

namespace cosmo::infer {

namespace svg = core::svg;

namespace {

constexpr double kWidth = 480, kHeight = 330, kLeft = 66, kRight = 464, kTop = 20, kBottom = 250,
                 kLegend = 318;
constexpr int kScaleOfSlices = 4;
constexpr std::array kColours = {"#0072b2", "#444444", "#d55e00",
                                 "#009e73"};  ///< the network's, and baselines'

/// Values against k.
struct Line {
  std::string name;  ///< plain text
  const char* colour;
  const std::vector<double>& values;
  const std::vector<double>& errors;
};

std::string draw(const Line& line, const std::vector<double>& k, const svg::Axis& x, const svg::Axis& y) {
  std::string points, bars;
  for (std::size_t i = 0; i < k.size(); ++i) {
    if (!std::isfinite(line.values[i])) continue;
    const auto height = [&](double value) { return y.place(std::clamp(value, y.low, y.high)); };
    points +=
        fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", x.place(k[i]), height(line.values[i]));
    if (std::isfinite(line.errors[i]))
      bars += svg::line(x.place(k[i]), height(line.values[i] - line.errors[i]), x.place(k[i]),
                        height(line.values[i] + line.errors[i]), line.colour);
  }
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n", points,
                     line.colour) +
         bars;
}

const char* wavenumber_in(core::LengthUnit unit) {
  return unit == core::LengthUnit::mpc ? "k [1/Mpc]" : "k [h/Mpc]";
}

/// 0, or below it the lowest value, rounded down.
double lowest(const std::vector<Line>& lines) {
  constexpr double kStep = 0.2;
  double low = 0;
  for (const Line& line : lines)
    for (const double value : line.values) low = std::isfinite(value) ? std::min(low, value) : low;
  return kStep * std::floor(low / kStep);
}

std::string figure_of(const std::string& title, const std::string& quantity, double high,
                      const std::vector<double>& k, core::LengthUnit unit, const std::vector<Line>& lines) {
  const svg::Axis x = svg::linear_axis(0, k.back() + fourier::FieldSpectra::kBin, kLeft, kRight, 7),
                  y = svg::linear_axis(lowest(lines), high, kBottom, kTop, 6);
  std::string content = svg::frame(x, y, wavenumber_in(unit), quantity);
  double at = kLeft;
  for (const Line& line : lines) {
    content += draw(line, k, x, y) +
               svg::line(at, kLegend - 4, at + 18, kLegend - 4, line.colour, " stroke-width=\"2\"") +
               svg::text(at + 23, kLegend, "start", svg::escaped(line.name));
    at += 40 + 7.5 * static_cast<double>(line.name.size());
  }
  return svg::image(kWidth, kHeight, title, content);
}

std::string with_error(const std::vector<double>& values, const std::vector<double>& errors, std::size_t i,
                       const char* form) {
  const std::string text = fmt::format(fmt::runtime(form), values[i], errors[i]);
  return std::isnan(errors[i]) ? text.substr(0, text.find(" ±")) : text;  // of a single universe
}

}  // namespace

dataset::Slice difference(const dataset::Slice& a, const dataset::Slice& b) {
  dataset::Slice slice = a;
  for (std::size_t i = 0; i < slice.values.size(); ++i) slice.values[i] -= b.values[i];
  return slice;
}

html::Figure slice_figure(const std::string& name, const std::string& caption, const dataset::Slice& slice,
                          const dataset::ColourScale& colours) {
  const int scale = std::max(1, kScaleOfSlices * 64 / slice.side);
  const std::string text = fmt::format("{}; {}colours from {:.2g} to {:.2g}", caption,
                                       colours.logarithmic ? "logarithmic " : "", colours.low, colours.high);
  return {fmt::format("figures/{}.png", name), dataset::image_of(slice, colours, scale), text, text};
}

std::string page_head(const std::string& title, const std::string& outcome, const std::string& alarm,
                      const std::vector<std::string>& doubts) {
  std::string content;
  if (!alarm.empty()) content += html::alarm(alarm);
  for (const std::string& doubt : doubts) content += html::doubt(doubt);
  return content + fmt::format("<h1>{}</h1>\n", html::escaped(title)) +
         html::paragraph(html::escaped(outcome));
}

std::string page_origin(const std::string& data, const std::string& split, const nn::ModelManifest& model) {
  return html::section("origin", "Where this comes from",
                       html::facts({{"data", html::escaped(data)},
                                    {"split", split},
                                    {"network", html::escaped(model.network.name)},
                                    {"epochs", fmt::format("{}", model.epochs)},
                                    {"program", html::escaped(core::version())}}));
}

std::vector<html::Figure> field_figures(const FieldPage& page) {
  const FieldMetrics& m = page.metrics;
  const FieldSlices& slices = page.slices;
  std::vector<Line> r = {{"network", kColours[0], m.network.r, m.network.r_se}},
                    t = {{"network", kColours[0], m.network.t, m.network.t_se}};
  for (std::size_t b = 0; b < m.baselines.size(); ++b) {
    const auto& [name, curve, gain, gain_se] = m.baselines[b];
    const char* colour = kColours[std::min(b + 1, kColours.size() - 1)];
    r.push_back({name, colour, curve.r, curve.r_se});
    if (curve.smoothing > 0)
      t.push_back({name, colour, curve.t, curve.t_se});  // those of counts mean nothing
  }
  const dataset::ColourScale counts = dataset::colour_scale({slices.input}),
                             fields = dataset::colour_scale({slices.truth});
  return {
      {"figures/correlation.svg", figure_of("Correlation with the true field", "r(k)", 1, m.k, page.unit, r),
       "Correlation with the true field against the wavenumber", "Correlation r(k) with the true field"},
      {"figures/transfer.svg", figure_of("Transfer function", "T(k)", 1.5, m.k, page.unit, t),
       "Amplitude of the predicted field over the true one against the wavenumber",
       "Amplitude T(k) over the true field's"},
      slice_figure("input", "input", slices.input, counts),
      slice_figure("truth", "truth", slices.truth, fields),
      slice_figure("prediction", "prediction", slices.prediction, fields),
      slice_figure("difference", "prediction less truth", difference(slices.prediction, slices.truth),
                   fields)};
}

std::string field_html(const FieldPage& page, const std::vector<html::Figure>& figures) {
  const FieldMetrics& m = page.metrics;
  std::vector<html::Row> rows;
  for (std::size_t i = 0; i < m.k.size(); ++i) {
    html::Row row{fmt::format("{:.2f}", m.k[i]),
                  {with_error(m.network.r, m.network.r_se, i, "{:.4f} ± {:.4f}")}};
    for (const FieldBaseline& baseline : m.baselines)
      row.cells.push_back(with_error(baseline.curve.r, baseline.curve.r_se, i, "{:.4f} ± {:.4f}"));
    row.cells.push_back(with_error(m.best().gain, m.best().gain_se, i, "{:+.4f} ± {:.4f}"));
    row.cells.push_back(fmt::format("{:.3f}", m.network.t[i]));
    if (m.coverage)
      row.cells.push_back(with_error(m.coverage->share, m.coverage->share_se, i, "{:.3f} ± {:.3f}"));
    rows.push_back(row);
  }
  std::vector<std::string> columns = {"network r"};
  for (const FieldBaseline& baseline : m.baselines) columns.push_back(title_of(baseline));
  columns.push_back("network less " + m.best().name);
  columns.emplace_back("network T");
  if (m.coverage) columns.push_back(fmt::format("in {:.1f} % region", 100 * CoverSums::kLevel));
  std::string content = page_head(m.quantity + ": predicted fields", outcome_of(m), page.alarm, page.doubts);
  content += html::section(
      "agreement", "Agreement, wavenumber by wavenumber",
      html::gallery({figures.begin(), figures.begin() + 2},
                    fmt::format("All modes of {} universes in bins of {} in k. Bars: standard errors "
                                "over universes.",
                                m.universes, fourier::FieldSpectra::kBin)) +
          (m.coverage ? html::paragraph(outcome_of(*m.coverage)) : "") +
          html::table(wavenumber_in(page.unit), columns, rows));
  content +=
      html::section("slices", "One universe",
                    html::gallery({figures.begin() + 2, figures.end()},
                                  fmt::format("Simulation {}: an eighth of the box, averaged along x. Truth, "
                                              "prediction and difference have the same colours.",
                                              page.slices.simulation)));
  content += page_origin(page.data, page.split, page.model);
  return html::page("Predicted fields", content);
}

}  // namespace cosmo::infer
