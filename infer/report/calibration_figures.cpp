#include "infer/report/calibration_figures.hpp"

#include <fmt/format.h>

#include "infer/report/figure/cover_figure.hpp"
#include "infer/report/figure/rank_figure.hpp"
#include "infer/report/figure/symbol.hpp"
#include "infer/report/page/metric.hpp"

namespace cosmo::infer {

std::vector<html::Figure> calibration_figures(const Report& report) {
  const core::Json* sbc = find_metric(report.metrics, {"uncertainty", "sbc"});
  if (sbc == nullptr) return {};
  std::vector<html::Figure> figures;
  const core::Json& band = sbc->at("band");
  for (const std::string& name : report.methods.front().universes.parameters.names) {
    figures.push_back(
        {html::figure_file("ranks", name),
         rank_figure(name, svg_symbol(name), sbc->at("counts").at(name), band.at(0), band.at(1)),
         fmt::format("Ranks of the true {} in what is predicted", name), ""});
  }
  const core::Json& tarp = report.metrics.at("uncertainty").at("tarp");
  figures.push_back(
      {"figures/coverage.svg",
       cover_figure(tarp.at("credibility"), tarp.at("coverage"), tarp.at("band_low"), tarp.at("band_high")),
       "Share of the truths in regions of each credibility", ""});
  return figures;
}

}  // namespace cosmo::infer
