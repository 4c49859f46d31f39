#include "infer/report/results.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "infer/report/explanation.hpp"
#include "infer/report/fiducial.hpp"
#include "infer/report/figure/symbol.hpp"
#include "infer/report/page/metric.hpp"

namespace cosmo::infer {

using core::Json;

namespace {

const std::vector<std::string>& names_of(const Report& report) {
  return report.methods.front().universes.parameters.names;
}

std::vector<std::string> symbols_of(const Report& report) {
  std::vector<std::string> symbols;
  for (const std::string& name : names_of(report)) symbols.push_back(html_symbol(name));
  return symbols;
}

/// "32 universes", the number in metrics.json.
std::string universes_text(const Report& report) {
  return counted(report.metrics, {"universes"}, "universes");
}

/// Whether there is a single universe, which has no scatter.
bool one_universe(const Report& report) { return report.methods.front().universes.rows.size() == 1; }

/// Whether the universes differ in some parameter, so that predictions have a line on truths: a point has none.
bool has_slope(const Report& report) {
  return !one_universe(report) && std::ranges::any_of(names_of(report), [&](const std::string& name) {
    return find_metric(report.metrics, {"network", name, "slope"}) != nullptr;
  });
}

/// Where method m stands in metrics.json.
MetricPath path_of(const Report& report, std::size_t m) {
  const std::string& key = report.methods[m].key;
  return m == 0 ? MetricPath{key} : MetricPath{"baselines", key};
}

MetricPath joined(MetricPath path, std::initializer_list<std::string> more) {
  path.insert(path.end(), more);
  return path;
}

/// The figure that heads everything.
constexpr const char* kHeadline = "scaled_error";

/// As many decimals as the most precise of the methods needs, so that a column is aligned.
int decimals_of(const Report& report, const MetricPath& top, const std::string& name,
                const std::string& figure) {
  int decimals = 0;
  for (std::size_t m = 0; m < report.methods.size(); ++m) {
    MetricPath path = top;
    for (const std::string& key : path_of(report, m)) path.push_back(key);
    const auto error = number_at(report.metrics, joined(path, {name, figure + "_se"}));
    const auto value = number_at(report.metrics, joined(path, {name, figure}));
    decimals = std::max(decimals, decimals_for(error, value.value_or(0)));
  }
  return decimals;
}

/// "(0.031)": mean |x - p| / |x|; empty unless the parameter's range is far from 0.
std::string fraction_text(const Report& report, MetricPath path) {
  path.back() = "fractional_error";
  if (!number_at(report.metrics, path)) return "";
  return fmt::format(" <span class=\"se\">({})</span>", metric(report.metrics, path, 3));
}

/// One row per method and one column per parameter for a figure such as "scaled_error".
std::vector<html::Row> rows_of(const Report& report, const MetricPath& top, const std::string& figure) {
  std::vector<html::Row> rows;
  for (std::size_t m = 0; m < report.methods.size(); ++m) {
    html::Row row{html::escaped(report.methods[m].title), {}, m == 0 ? "ours" : ""};
    MetricPath path = top;
    for (const std::string& key : path_of(report, m)) path.push_back(key);
    if (find_metric(report.metrics, path) == nullptr) continue;  // it does not predict such rows
    for (const std::string& name : names_of(report)) {
      const MetricPath place = joined(path, {name, figure});
      row.cells.push_back(estimate(report.metrics, place, decimals_of(report, top, name, figure)) +
                          (figure == kHeadline ? fraction_text(report, place) : ""));
    }
    rows.push_back(row);
  }
  return rows;
}

/// A note where methods cannot be ranked, or nothing.
std::string point_note(const Report& report) {
  return at_a_point(report)
             ? html::paragraph(
                   "<b>At one point these errors do not rank methods</b>: predicting the centre is "
                   "exact where the point is the centre.")
             : "";
}

const MetricPath kForecast = {"forecast", "power_spectrum"};

html::Row forecast_row(const Report& report) {
  html::Row row{"<i>P</i>(<i>k</i>) forecast", {}, "forecast"};
  for (const std::string& name : names_of(report)) {
    row.cells.push_back(metric(report.metrics, joined(kForecast, {name, kHeadline}),
                               decimals_of(report, {}, name, kHeadline)));
  }
  return row;
}

/// "; the network predicts by the mean of a posterior, other methods by the mean over a universe’s sub-volumes".
std::string predictor_text(const Report& report) {
  const Method& network = report.methods.front();
  const bool cut = network.subvolumes.rows.size() > network.universes.rows.size();
  const std::string mean = cut ? "the mean over a universe’s sub-volumes" : "";
  if (report.deviations.key != "posterior") return cut ? "; predictions are " + mean : "";
  return "; the network predicts by the mean of a posterior" + (cut ? ", other methods by " + mean : "");
}

}  // namespace

std::optional<double> forecast_sigma(const Json& metrics, const std::string& parameter) {
  return number_at(metrics, joined(kForecast, {parameter, "sigma"}));
}

std::string errors_section(const Report& report, const std::vector<html::Figure>& figures) {
  const bool forecast = find_metric(report.metrics, kForecast) != nullptr;
  std::vector<html::Row> rows = rows_of(report, {}, kHeadline);
  if (forecast) rows.push_back(forecast_row(report));
  const bool fractions = std::ranges::any_of(names_of(report), [&](const std::string& name) {
    return number_at(report.metrics, {"network", name, "fractional_error"}).has_value();
  });
  const std::string what = fmt::format(
      "Rms error of {} ({} data{}) over the standard deviation of the training labels: predicting their mean gives 1 for any "
      "parameter{}; {}{}",
      universes_text(report), html::escaped(report.split), predictor_text(report),
      one_universe(report) ? "" : ", and a method that is not below 1 has learned nothing about it",
      one_universe(report)
          ? "without standard errors: one universe has no scatter, and shows little of a method."
          : "standard errors are by bootstrap over universes.",
      fractions
          ? " In brackets: mean |<i>x</i> − <i>p</i>| / |<i>x</i>| of truths <i>x</i> and predictions <i>p</i>, where "
            "the range is far from 0."
          : "");
  std::string content =
      html::paragraph(what) + point_note(report) + html::table("method", symbols_of(report), rows) +
      missing_text(report) +
      html::details("What the methods are", methods_text(report) + (forecast ? forecast_text(report) : ""));
  if (!figures.empty()) {
    content += html::gallery(
        figures,
        std::string("The same errors, each from zero on.") +
            (one_universe(report) ? ""
             : !paired_section(report).empty()
                 ? " All methods saw the same universes, so their bars are correlated: whether one beats "
                   "another is read off the <a href=\"#paired\">paired differences</a>, not off overlapping "
                   "bars."
                 : " All methods saw the same universes, so their bars are correlated: bars that overlap do "
                   "not mean that two methods are equal."));
  }
  return html::section("errors", "Errors", content);
}

namespace {

/// What the bars of predictions are.
std::string bars_text(const Report& report) {
  const auto& rows = report.methods.front().universes.rows;
  if (rows.empty() || rows.front().deviation.empty())
    return "There are no bars: no uncertainty is predicted.";
  const bool shared =
      std::ranges::all_of(rows, [&](const auto& row) { return row.deviation == rows.front().deviation; });
  return std::string(report.deviations.bars) +
         (shared && rows.size() > 1 ? " One is drawn, in the corner." : "");
}

}  // namespace

std::string predictions_section(const Report& report, const std::vector<html::Figure>& figures) {
  const bool forecast = forecast_sigma(report.metrics, names_of(report).front()).has_value();
  const bool one = one_universe(report);
  std::string caption =
      one ? "The point is the one universe." : fmt::format("A point is one of {}.", universes_text(report));
  caption += " Line: prediction = truth. ";
  if (forecast || !one) {
    caption += fmt::format("Band: plus and minus {} around it. ",
                           forecast ? "one standard deviation of the <i>P</i>(<i>k</i>) forecast"
                                    : "the network’s rms error on these universes");
  }
  caption += bars_text(report);
  if (has_slope(report)) {
    caption +=
        " A cloud that is flatter than the line is drawn towards the centre of the range, which is what a "
        "network does with what it cannot see: its slope is in the <a href=\"#measures\">table below</a>.";
  }
  return html::section("predictions", "Prediction against truth", html::gallery(figures, caption));
}

std::string paired_section(const Report& report) {
  const Json* paired = find_metric(report.metrics, {"paired"});
  if (paired == nullptr || !paired->is_object() || paired->empty() || at_a_point(report)) return "";
  std::vector<html::Row> rows;
  for (std::size_t m = 1; m < report.methods.size(); ++m) {
    const Method& method = report.methods[m];
    if (!paired->contains(method.key)) continue;
    html::Row row{html::escaped(method.title), {}};
    for (const std::string& name : names_of(report)) {
      const MetricPath path = {"paired", method.key, name};
      const auto error = number_at(report.metrics, joined(path, {"mae_difference_se"}));
      const std::string wins =
          one_universe(report) ? "" : metric(report.metrics, joined(path, {"fraction_better"}), 2);
      row.cells.push_back(
          estimate(report.metrics, joined(path, {"mae_difference"}), decimals_for(error)) +
          (wins.empty() ? "" : fmt::format(" <span class=\"se under\">better in {}</span>", wins)));
    }
    rows.push_back(row);
  }
  return html::section(
      "paired", "Network and baselines, universe by universe",
      html::paragraph(fmt::format(
          "Mean difference of |<i>x</i> − <i>p</i>| between the network and each baseline on {}, in "
          "label units (the parameter’s range is 2 wide). Negative means that the network is better{}",
          universes_text(report),
          one_universe(report)
              ? ". One universe has no standard error: whether a difference is more than chance is not known."
              : "; “better in” is the share of universes in which it is. Standard errors are by paired "
                "bootstrap over universes; a difference within about two of them of zero is not a "
                "finding.")) +
          html::table("network −", symbols_of(report), rows));
}

namespace {

/// How often the truth lies in the intervals, one row per interval.
std::string coverage_text(const Report& report) {
  const auto row = [&](const std::string& head, const std::string& figure) {
    html::Row cells{head, {}};
    for (const std::string& name : names_of(report))
      cells.cells.push_back(estimate(report.metrics, {"uncertainty", "coverage", name, figure}, 3));
    return cells;
  };
  html::Row expected{"expected: 0.683 and 0.954", {}, "forecast"};
  expected.cells.resize(names_of(report).size());
  const std::string table =
      html::table("coverage", symbols_of(report),
                  {row("within 1 σ", "within_1_sigma"), row("within 2 σ", "within_2_sigma"), expected});
  const bool dashes = !one_universe(report) && table.find("—") != std::string::npos;
  return html::paragraph(fmt::format(
             "How often the truth lies in the central intervals that are predicted to hold it with a "
             "probability of 68.3 and 95.4 %: the share of {}. More than expected: the uncertainties are too "
             "large; less: too small.{}",
             universes_text(report),
             dashes
                 ? " A share of 0 or 1 has a dash for its standard error: resampling universes that are all "
                   "alike gives none."
                 : "")) +
         table;
}

/// How predicted densities were mapped, or that they were not.
std::string calibration_text(const Report& report) {
  const MetricPath top = {"uncertainty", "calibration"};
  if (find_metric(report.metrics, top) == nullptr) return "";
  const std::string universes = counted(report.metrics, joined(top, {"universes"}), "validation universes");
  bool fitted = false;
  std::string factors;
  for (const std::string& name : names_of(report)) {
    const MetricPath path = joined(top, {"scale", name});
    fitted |= number_at(report.metrics, path) != 1.0;  // exactly 1 where there is no likelihood
    factors += (factors.empty() ? "" : ", ") + html_symbol(name) + " " + metric(report.metrics, path, 2);
  }
  if (!fitted)
    return html::paragraph(
        "Nothing was fitted to make them right: rms errors on " + universes + " are taken as they are.",
        "note");
  if (report.deviations.key == "posterior")
    return html::paragraph(
        fmt::format("Numbers of at least 1, fitted to {}, widen the posteriors: {}.", universes, factors),
        "note");
  const Json* models = find_metric(report.metrics, {"uncertainty", "models"});
  return html::paragraph(
      fmt::format("Predicted distributions are mapped about their means by a triangular matrix that was "
                  "fitted on {}. It has on its diagonal{}: {}; above 1 makes them wider.",
                  universes, models != nullptr && *models > 1 ? " (geometric means over the networks)" : "",
                  factors),
      "note");
}

/// How many universes are far from the training data in the network's features.
std::string distance_text(const Report& report) {
  if (find_metric(report.metrics, {"features", "far"}) == nullptr) return "";
  return html::paragraph(fmt::format(
      "Distance from the training data, in the network's features: the share of universes that are farther than 95 % of {} "
      "is {}; {} is expected of universes like those.",
      counted(report.metrics, {"features", "validation_universes"}, "validation universes"),
      metric(report.metrics, {"features", "far"}, 3),
      metric(report.metrics, {"features", "expected_far"}, 3)));
}

/// The verdicts on the ranks and on the coverage of all parameters together, with their figures.
std::string check_text(const Report& report, const std::vector<html::Figure>& figures) {
  if (figures.empty()) return "";
  const auto verdict = [&](const MetricPath& path) {
    return find_metric(report.metrics, path)->get<bool>() ? "inside" : "<b>outside</b>";
  };
  const auto verdicts = [&](const char* check) {
    std::string text;
    for (const std::string& name : names_of(report))
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", html_symbol(name),
                          verdict({"uncertainty", check, "inside", name}));
    return text;
  };
  return "<h3>Calibration</h3>\n" +
         html::gallery(
             figures,
             fmt::format(
                 "If the predicted distributions are right, the bars are level and the curve follows the "
                 "diagonal, and all of them, and the shares of truths within one and two standard deviations, stay "
                 "within their bands, grey in the figures, with a probability of 95 %: bars high at both ends mean distributions that are "
                 "too narrow, a hump in the middle too wide, a slope shifted ones. Bars (simulation-based "
                 "calibration) are each parameter alone, the curve (TARP) all of them together. Here the bars are: "
                 "{}; the shares: {}; the curve: {}. With few universes the bands are wide and show little.",
                 verdicts("sbc"), verdicts("intervals"), verdict({"uncertainty", "tarp", "inside"})),
             "small");
}

}  // namespace

std::string uncertainty_section(const Report& report, const std::vector<html::Figure>& figures) {
  const MetricPath top = {"uncertainty"};
  const Json* uncertainty = find_metric(report.metrics, top);
  if (uncertainty == nullptr || !uncertainty->is_object() || !uncertainty->contains("coverage") ||
      at_a_point(report))
    return "";
  std::string content = html::paragraph(std::string(report.deviations.sentence)) + coverage_text(report) +
                        calibration_text(report) + distance_text(report) + check_text(report, figures);
  const std::string likelihood =
      estimate(report.metrics, joined(top, {"negative_log_likelihood"}),
               decimals_for(number_at(report.metrics, joined(top, {"negative_log_likelihood_se"}))));
  if (!likelihood.empty()) {
    const bool finite = number_at(report.metrics, joined(top, {"negative_log_likelihood"})).has_value();
    content +=
        html::paragraph("Joint negative log-likelihood per universe, of all parameters in label units: " +
                        (finite ? likelihood + ". Smaller is better."
                                : "infinite, since truths lie outside the ranges of the model."));
  }
  return html::section("uncertainty", "Are the uncertainties right?", content);
}

std::string measures_section(const Report& report) {
  struct Measure {
    const char *figure, *title, *meaning;
  };
  constexpr Measure kMeasures[] = {
      {"rmse", "Root mean square error", "physical units"},
      {"mae", "Mean absolute error",
       "mean |<i>x</i> − <i>p</i>| in label units: the parameter’s range is 2 wide"},
      {"relative_error", "Mean relative error",
       "mean |<i>x</i> − <i>p</i>| / |<i>p</i>|, as in the paper of 2018; without meaning where a range "
       "contains 0"},
      {"bias", "Bias", "mean of <i>p</i> − <i>x</i>, physical units"},
      {"slope", "Slope",
       "that of the least-squares line of <i>p</i> on <i>x</i>; 1 without regression to the centre, 0 "
       "for a method that ignores its input"}};
  std::string content;
  for (const Measure& measure : kMeasures) {
    if (measure.figure == std::string_view("slope") && !has_slope(report)) continue;
    content += fmt::format("<h3>{}</h3>\n", measure.title) + html::paragraph(measure.meaning, "note") +
               html::table("method", symbols_of(report), rows_of(report, {}, measure.figure));
  }
  if (report.metrics.at("samples") != report.metrics.at("universes")) {
    content += "<h3>Single sub-volumes</h3>\n" +
               html::paragraph(
                   fmt::format("rms error over the standard deviation of the labels, of {} of {}{}",
                               counted(report.metrics, {"samples"}, "sub-volumes"), universes_text(report),
                               one_universe(report)
                                   ? ""
                                   : "; those of one universe are correlated, which the bootstrap over "
                                     "universes takes into account"),
                   "note") +
               html::table("method", symbols_of(report), rows_of(report, {"per_subvolume"}, kHeadline));
  }
  return html::section("measures", "Other measures",
                       html::details("Absolute and relative errors, bias and slope", content));
}

}  // namespace cosmo::infer
