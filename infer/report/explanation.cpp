#include "infer/report/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "dataset/regression/learned_baselines.hpp"
#include "infer/report/page/metric.hpp"

namespace cosmo::infer {

namespace {

/// What the method with a key does.
struct Explanation {
  const char *key, *text;
};
constexpr Explanation kExplanations[] = {
    {"network", "what the trained network predicts for each sub-volume; for a universe, these combined."},
    {"network_alone", "what the network itself predicts, for a universe the mean over its sub-volumes."},
    {"centre",
     "the centre of each parameter’s range, whatever the universe: what can be predicted without looking."},
    {"power_spectrum",
     "ridge regression on ln <i>P</i>(<i>k</i>) of a sub-volume, in groups of bins of <i>k</i>, and on "
     "products of its leading principal components. The penalty and the number of components are chosen for "
     "each parameter by cross-validation within the training universes, which is all that it learns from."},
    {"summary_statistics",
     "the same regression on more: also ln <i>P</i>(<i>k</i>) of the logarithm of the field, ln(1 + "
     "<i>n</i>) of counts <i>n</i>, and the distribution of its values, their mean, skewness and kurtosis."}};

constexpr const char* kPosteriorMean =
    "the mean of the posterior: of the density of the parameters given what the trained network and, if it has a baseline, "
    "its regression predict for all sub-volumes of a universe.";

/// Whose universes the regressions rest on, and that these are few.
std::string origin_text(const Report& report) {
  const core::Json* note = find_metric(report.metrics, {"baselines_from", "note"});
  const core::Json* universes = find_metric(report.metrics, {"baselines_from", "universes"});
  if (note == nullptr || universes == nullptr) return "";
  std::string text = "Here " + html::escaped(note->get<std::string>()) + ".";
  if (universes->get<std::size_t>() < dataset::kFewUniverses)
    text += fmt::format(
        " <b>These are fewer than {}</b>: regressions on more would be better, so the network looks better "
        "beside these than it is.",
        dataset::kFewUniverses);
  return text;
}

}  // namespace

std::string methods_text(const Report& report) {
  std::vector<std::string> lines;
  for (const Explanation& entry : kExplanations) {
    const auto method = std::ranges::find(report.methods, entry.key, &Method::key);
    const bool posterior = report.deviations.key == "posterior" && std::string_view(entry.key) == "network";
    if (method != report.methods.end())
      lines.push_back("<b>" + html::escaped(method->title) +
                      "</b>: " + (posterior ? kPosteriorMean : entry.text));
  }
  if (std::ranges::any_of(report.methods, &Method::of_whole_universes)) {
    lines.emplace_back(
        "<b>*</b>: the statistics are averaged over a universe’s sub-volumes first, and the regression is "
        "applied once to the averages. Methods without an asterisk predict every sub-volume on its own, and "
        "a universe by the mean of these; noise draws such a mean to the centre of the range, so the methods "
        "with an asterisk are the ones to beat.");
  }
  if (const std::string origin = origin_text(report); !origin.empty()) lines.push_back(origin);
  return html::list(lines, "note");
}

std::string forecast_text(const Report& report) {
  const auto number = [&](const char* key, int decimals) {
    return metric(report.metrics, {"forecast", "power_spectrum", key}, decimals);
  };
  const core::Json* unit = find_metric(report.metrics, {"forecast", "power_spectrum", "k_unit"});
  return html::paragraph(
      fmt::format(
          "The forecast is what a Fisher estimate expects of the power spectrum alone. It is not a bound: "
          "a method that uses more than <i>P</i>(<i>k</i>) may do better. It uses <i>P</i>(<i>k</i>) as "
          "measured, with window and shot noise, in {} bins up to <i>k</i> = {} {}; derivatives of ln "
          "<i>P</i>(<i>k</i>) at the centre of the ranges are from a quadratic regression on {} training "
          "universes, less what their noise adds. It assumes a Gaussian likelihood of ln "
          "<i>P</i>(<i>k</i>), whose covariance is the scatter around that regression (with Hartlap’s "
          "factor) and the same in every universe, and a flat prior over the ranges; what is expected is the "
          "error of the posterior’s mean.",
          number("bins", 0), number("k_max", 3), html::escaped(unit->get<std::string>()),
          number("universes_used", 0)),
      "note");
}

std::string missing_text(const Report& report) {
  const core::Json* forecast = find_metric(report.metrics, {"forecast"});
  if (forecast == nullptr || !forecast->empty()) return "";
  if (report.request.config.value("baselines", "") == "centre")
    return html::paragraph(
        "Regressions on the power spectrum and on summary statistics, and its forecast, were left out by "
        "--baselines centre.",
        "note");
  std::string text = fmt::format(
      "There is no <i>P</i>(<i>k</i>) forecast: the training universes of different parameters are too few; "
      "it takes at least {}.",
      dataset::fewest_universes(report.model.parameters.size()));
  if (report.methods.size() == 2) text += " Regressions are left out, as they need two universes.";
  return html::paragraph(text, "note");
}

}  // namespace cosmo::infer
