#include "infer/initial/mode_coverage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>

#include "infer/evaluate/bootstrap.hpp"
#include "sim/linear/mode_table.hpp"

namespace cosmo::infer {

namespace {

/// A share of all universes, and its error.
std::array<double, 2> share_of(const std::vector<CoverSums>& universes) {
  CoverSums sum;
  for (const CoverSums& universe : universes) sum.add(universe);
  return {sum.figures()[0], bootstrap_errors(universes)[0]};
}

}  // namespace

void CoverSums::add(const CoverSums& more) {
  inside += more.inside;
  modes += more.modes;
}

std::vector<CoverSums> covered(const fourier::FieldSpectra& spectra, const nn::FieldPosterior& posterior,
                               const StatedSpectrum& spectrum) {
  const sim::LinearPower power = spectrum.power();
  const double variance = spectrum.variance(spectra.truth().side());
  const double volume = std::pow(spectrum.box_mpc_h(), 3), most = -std::log(1 - CoverSums::kLevel);
  const sim::ModeTable gain(spectra.truth(), [&](double k) { return posterior.gain_at(k, variance); });
  const sim::ModeTable limit(spectra.truth(), [&](double k) {
    return most * posterior.power_left_at(k, variance) * power(k * spectrum.wavenumber_unit()) / volume;
  });
  std::vector<CoverSums> bins(spectra.bins().size());
  spectra.for_each_mode([&](std::size_t bin, int kx, int ky, int kz, std::uint64_t modes,
                            const std::complex<double>& p, const std::complex<double>& t) {
    const bool inside =
        std::norm(t - static_cast<double>(gain(kx, ky, kz)) * p) <= static_cast<double>(limit(kx, ky, kz));
    const auto times = static_cast<double>(modes);
    bins[bin].add({inside ? times : 0, times});
  });
  return bins;
}

ModeCoverage coverage_of(const std::vector<std::vector<CoverSums>>& universes) {
  ModeCoverage coverage;
  std::vector<CoverSums> all(universes.size());
  for (std::size_t bin = 0; bin < universes.front().size(); ++bin) {
    if (universes.front()[bin].modes == 0) continue;
    std::vector<CoverSums> own;
    for (std::size_t u = 0; u < universes.size(); ++u) {
      own.push_back(universes[u][bin]);
      all[u].add(own.back());
    }
    const auto [share, error] = share_of(own);
    coverage.share.push_back(share);
    coverage.share_se.push_back(error);
  }
  const auto [share, error] = share_of(all);
  coverage.all = share;
  coverage.all_se = error;
  return coverage;
}

core::Json to_json(const ModeCoverage& coverage) {
  return {{"level", CoverSums::kLevel},
          {"share", coverage.share},
          {"share_se", coverage.share_se},
          {"all", coverage.all},
          {"all_se", coverage.all_se}};
}

std::string outcome_of(const ModeCoverage& coverage) {
  const auto [least, most] = std::ranges::minmax(coverage.share);
  const std::string error =
      std::isnan(coverage.all_se) ? "" : fmt::format(" ± {:.2f}", 100 * coverage.all_se);
  return fmt::format(
      "{:.2f}{} % of the true modes are inside the {:.1f} % regions of their posteriors, {:.1f} to {:.1f} % by bin.",
      100 * coverage.all, error, 100 * CoverSums::kLevel, 100 * least, 100 * most);
}

}  // namespace cosmo::infer
