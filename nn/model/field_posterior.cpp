#include "nn/model/field_posterior.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/error.hpp"

namespace cosmo::nn {

namespace {

/// ln(share/(1 − share)), of a share that is not quite 0 or 1.
double log_odds(double share) {
  constexpr double kLeast = 1e-9;
  const double inside = std::clamp(share, kLeast, 1 - kLeast);
  return std::log(inside / (1 - inside));
}
double share_of(double log_odds) { return 1 / (1 + std::exp(-log_odds)); }

double interpolated(const std::vector<double>& k, const std::vector<double>& values, double wavenumber) {
  const auto above = static_cast<std::size_t>(std::ranges::lower_bound(k, wavenumber) - k.begin());
  if (above == 0) return values.front();
  if (above == k.size()) return values.back();
  const double share = (wavenumber - k[above - 1]) / (k[above] - k[above - 1]);
  return values[above - 1] + share * (values[above] - values[above - 1]);
}

}  // namespace

double FieldPosterior::gain_at(double wavenumber, double of_variance) const {
  return interpolated(k, gain, wavenumber) *
         std::pow(of_variance / variance, interpolated(k, gain_slope, wavenumber));
}

double FieldPosterior::power_left_at(double wavenumber, double of_variance) const {
  std::vector<double> odds;  // they grow as exponentials of k: their logarithms are interpolated
  for (const double share : power_left) odds.push_back(log_odds(share));
  return share_of(interpolated(k, odds, wavenumber) + slope * std::log(of_variance / variance));
}

bool has_field_posterior(std::string_view quantity, int channels) {
  return quantity == "initial" && channels == 1;
}

void to_json(core::Json& json, const FieldPosterior& posterior) {
  json = {{"k", posterior.k},
          {"gain", posterior.gain},
          {"gain_slope", posterior.gain_slope},
          {"power_left", posterior.power_left},
          {"variance", posterior.variance},
          {"slope", posterior.slope},
          {"universes", posterior.universes}};
}

void from_json(const core::Json& json, FieldPosterior& posterior) {
  try {
    posterior = {json.at("k"),        json.at("gain"),  json.at("gain_slope"), json.at("power_left"),
                 json.at("variance"), json.at("slope"), json.at("universes")};
  } catch (const core::Json::exception&) {
    posterior = {};  // which check() refuses
  }
}

void check(const FieldPosterior& posterior, const std::string& source) {
  constexpr double kLargestGain = 1000, kSteepest = 20;  // no fit has more
  const auto& [k, gain, slopes, left, variance, slope, universes] = posterior;
  const bool increases = std::ranges::adjacent_find(k, std::greater_equal()) == k.end();
  core::ensure(!k.empty() && k.size() == gain.size() && k.size() == slopes.size() &&
                   k.size() == left.size() && increases && k.front() > 0 && std::isfinite(k.back()) &&
                   std::ranges::all_of(gain, [](double a) { return std::abs(a) <= kLargestGain; }) &&
                   std::ranges::all_of(slopes, [](double a) { return std::abs(a) <= kSteepest; }) &&
                   std::ranges::all_of(left, [](double s) { return s >= 0 && s <= 1; }) && variance > 0 &&
                   std::isfinite(variance) && std::abs(slope) <= kSteepest && universes >= 1,
               core::Fault::format,
               "{} has a field_posterior whose numbers are not those of a fit: fit it again with cosmo-train "
               "--posterior-only.",
               source);
}

}  // namespace cosmo::nn
