#include "infer/report/fiducial.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "infer/report/figure/symbol.hpp"
#include "infer/report/page/metric.hpp"

namespace cosmo::infer {

bool at_a_point(const Report& report) {
  const std::vector<std::string>& names = report.methods.front().universes.parameters.names;
  return std::ranges::all_of(names, [&](const std::string& name) {
    return find_metric(report.metrics, {"fiducial", name}) != nullptr;
  });
}

std::string fiducial_cell(const Report& report, const std::string& name, const char* figure,
                          const char* error) {
  return estimate(report.metrics, {"fiducial", name, figure},
                  decimals_for(number_at(report.metrics, {"fiducial", name, error})));
}

std::string fiducial_section(const Report& report) {
  const core::Json* fiducial = find_metric(report.metrics, {"fiducial"});
  if (fiducial == nullptr) return "";
  std::vector<html::Row> rows;
  const std::vector<std::string>& names = report.methods.front().universes.parameters.names;
  for (const std::string& name : names) {
    if (!fiducial->contains(name)) continue;
    const auto cell = [&](const char* figure, const char* error) {
      return fiducial_cell(report, name, figure, error);
    };
    rows.push_back({html_symbol(name),
                    {metric(report.metrics, {"fiducial", name, "truth"}, 4), cell("bias", "bias_se"),
                     cell("scatter", "scatter_se"), cell("mean_deviation", "scatter_se")}});
  }
  const char* others = rows.size() < names.size() ? ", while other parameters vary" : "";
  return html::section(
      "fiducial", "Bias and scatter at one point",
      html::paragraph(fmt::format(
          "{} have the same value <i>x</i> of these parameters{}. Bias: the mean of <i>p</i> − <i>x</i> of the network’s "
          "predictions <i>p</i>; a network is drawn towards the centre of its ranges, so that a bias of some standard "
          "errors is the rule away from it. Scatter: the standard deviation of <i>p</i>. Predicted deviations that are "
          "honest about noise are at least as large; where the network is drawn towards the centre, they are larger.",
          counted(report.metrics, {"universes"}, "universes"), others)) +
          html::table("at a point", {"truth", "bias", "scatter", "mean predicted deviation"}, rows));
}

}  // namespace cosmo::infer
