#include "infer/report/outcome.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "infer/evaluate/uncertainty.hpp"
#include "infer/report/fiducial.hpp"
#include "infer/report/figure/symbol.hpp"
#include "infer/report/page/metric.hpp"

namespace cosmo::infer {

namespace {

/// "Ω_m", "Ω_m and σ_8", "Ω_m, σ_8 and n_s".
std::string enumeration(const std::vector<std::string>& items) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i)
    text += (i == 0 ? "" : i + 1 == items.size() ? " and " : ", ") + items[i];
  return text;
}

std::vector<std::string> symbols_of(const std::vector<std::string>& names) {
  std::vector<std::string> symbols;
  for (const std::string& name : names) symbols.push_back(html_symbol(name));
  return symbols;
}

/// "0.31 in Ω_m, 0.12 in σ_8": the network's errors.
std::string errors_text(const Report& report) {
  std::string text;
  for (const std::string& name : report.methods.front().universes.parameters.names)
    text += fmt::format("{}{} in {}", text.empty() ? "" : ", ",
                        metric(report.metrics, {"network", name, "scaled_error"}, 2), html_symbol(name));
  return text;
}

/// How the network compares with a method: the parameters in which it is ahead, level and behind. A difference of less than
/// two standard errors is none.
struct Standing {
  std::vector<std::string> ahead, level, behind;
};

Standing standing_of(const Report& report, const std::string& key) {
  Standing standing;
  for (const std::string& name : report.methods.front().universes.parameters.names) {
    const auto difference = number_at(report.metrics, {"paired", key, name, "mae_difference"});
    const auto error = number_at(report.metrics, {"paired", key, name, "mae_difference_se"});
    if (!difference || !error) continue;
    constexpr double kFinding = 2;
    auto& list = *difference < -kFinding * *error  ? standing.ahead
                 : *difference > kFinding * *error ? standing.behind
                                                   : standing.level;
    list.push_back(html_symbol(name));
  }
  return standing;
}

/// "ahead of a regression on the power spectrum in Ω_m and level with it in n_s"; empty if nothing is known.
std::string standing_text(const Report& report, const std::string& key, const std::string& method) {
  const auto [ahead, level, behind] = standing_of(report, key);
  const std::size_t all = report.methods.front().universes.parameters.size();
  std::string text;
  const auto add = [&](const std::vector<std::string>& names, const std::string& first,
                       const std::string& later) {
    if (names.empty()) return;
    const std::string where = names.size() < all || all == 1 ? enumeration(names)
                              : all == 2                     ? "both"
                              : all == 3                     ? "all three"
                                                             : fmt::format("all {}", all);
    text += (text.empty() ? first + " " + method : ", " + later) + " in " + where;
  };
  add(ahead, "ahead of", "ahead of it");
  add(level, "level with", "level with it");
  add(behind, "behind", "behind it");
  return text;
}

/// The regressions to name, each by the strongest of its kind that is there.
struct Rival {
  std::array<const char*, 2> keys;
  const char* title;
};
constexpr std::array<Rival, 2> kRivals = {
    {{{"universe_power_spectrum", "power_spectrum"}, "a regression on the power spectrum"},
     {{"universe_summary_statistics", "summary_statistics"}, "one on all summary statistics"}}};

std::string rivals_text(const Report& report) {
  std::vector<std::string> standings;
  for (const Rival& rival : kRivals) {
    const auto there = std::ranges::find_if(rival.keys, [&](const char* key) {
      return find_metric(report.metrics, {"paired", key}) != nullptr;
    });
    if (there == rival.keys.end()) continue;
    const std::string text = standing_text(report, *there, rival.title);
    if (!text.empty()) standings.push_back(text);
  }
  std::string text;
  for (const std::string& standing : standings) text += (text.empty() ? "; it is " : "; ") + standing;
  return text;
}

/// "4 % in Ω_m and 29 % in n_s": where fewer truths lie within one standard deviation than by chance of one right model in a
/// thousand; empty if nowhere.
std::string too_few_inside(const Report& report) {
  constexpr double kExpected = kWithin1Sigma, kFinding = 3;
  const dataset::PredictionTable& universes = report.methods.front().universes;
  const double chance = std::sqrt(kExpected * (1 - kExpected) / static_cast<double>(universes.rows.size()));
  std::vector<std::string> found;
  for (const std::string& name : universes.parameters.names) {
    const auto inside = number_at(report.metrics, {"uncertainty", "coverage", name, "within_1_sigma"});
    if (inside && *inside < kExpected - kFinding * chance)
      found.push_back(fmt::format("{:.0f} % in {}", 100 * *inside, html_symbol(name)));
  }
  return enumeration(found);
}

/// The number of settings that are judged each by itself.
std::size_t settings_in(const Report& report) {
  const core::Json* settings = find_metric(report.metrics, {"settings"});
  return settings == nullptr ? 0 : settings->size();
}

/// "3.8 in Ω_m and 3.2 in σ_8": the largest biases of a setting that no chance explains, in the network's errors; empty without any.
std::string biases_text(const Report& report) {
  constexpr double kMost = 0.5, kFinding = 3;
  std::vector<std::string> found;
  for (const std::string& name : report.methods.front().universes.parameters.names) {
    double largest = 0;
    for (std::size_t s = 0; s < settings_in(report); ++s) {
      const auto number = [&](const char* figure) {
        return number_at(report.metrics, {"settings", std::to_string(s), name, figure});
      };
      const auto bias = number("bias_deviations"), error = number("bias_deviations_se");
      if (bias && error && std::abs(*bias) > std::max({largest, kMost, kFinding * *error}))
        largest = std::abs(*bias);
    }
    if (largest > 0) found.push_back(fmt::format("{:.1f} in {}", largest, html_symbol(name)));
  }
  return enumeration(found);
}

/// A sentence on error bars that these universes contradict; empty if they do not.
std::string contradiction_text(const Report& report) {
  const std::string few = too_few_inside(report), biases = biases_text(report);
  if (few.empty() && biases.empty()) return "";
  return fmt::format(
      " <b>Do not use its error bars here</b>:{}{}{}.",
      few.empty() ? "" : " where 68 % of the truths belong within one standard deviation, there are " + few,
      few.empty() || biases.empty() ? "" : ";",
      biases.empty()
          ? ""
          : fmt::format(" predictions{} are off, on average, by {}, in units of the rms errors on its "
                        "validation universes",
                        settings_in(report) > 1 ? " for a setting" : "", biases));
}

/// A sentence on posteriors that are not calibrated; empty if they are, or if that was not checked.
std::string verdict_text(const Report& report) {
  if (const std::string contradiction = contradiction_text(report); !contradiction.empty())
    return contradiction;
  const core::Json* calibrated = find_metric(report.metrics, {"uncertainty", "calibrated"});
  if (calibrated == nullptr || calibrated->get<bool>()) return "";
  std::vector<std::string> outside;
  for (const std::string& name : report.methods.front().universes.parameters.names) {
    const auto fails = [&](const char* check) {
      const core::Json* inside = find_metric(report.metrics, {"uncertainty", check, "inside", name});
      return inside != nullptr && !inside->get<bool>();
    };
    if (fails("sbc") || fails("intervals")) outside.push_back(html_symbol(name));
  }
  return fmt::format(
      " <b>Its error bars fail the check of calibration{}</b>, as one right model in twenty does by chance: the section on "
      "calibration shows how far they are off.",
      outside.empty() ? "" : " in " + enumeration(outside));
}

/// What came out at one point.
std::string point_text(const Report& report) {
  std::string text;
  for (const std::string& name : report.methods.front().universes.parameters.names)
    text += fmt::format("{}{} by {} (scatter {})", text.empty() ? "" : ", ", html_symbol(name),
                        fiducial_cell(report, name, "bias", "bias_se"),
                        fiducial_cell(report, name, "scatter", "scatter_se"));
  return fmt::format(
      "All universes are at one point, where the network’s predictions are off by their bias: {}.{}", text,
      contradiction_text(report));
}

}  // namespace

std::string outcome_text(const Report& report) {
  if (at_a_point(report)) return point_text(report);
  const std::vector<std::string> below = report.model.below_centre();
  const char* subject =
      report.model.network.baseline.empty()
          ? "The network’s"
          : "The network, mixed with a regression on summary statistics, has errors as follows. Its";
  const std::string warning =
      below.empty() ? subject
                    : fmt::format(
                          "<b>The network predicts {} no better than the mean of the training labels "
                          "would</b> (on the validation universes of its training); its",
                          enumeration(symbols_of(below)));
  return fmt::format(
      "{} rms error is {} of the standard deviation of the training labels (predicting their mean gives 1){}.{}",
      warning, errors_text(report), rivals_text(report), verdict_text(report));
}

}  // namespace cosmo::infer
