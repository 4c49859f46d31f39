#include "infer/initial/stated_spectrum.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/named.hpp"
#include "histogram/snapshot/counting_job.hpp"

namespace cosmo::infer {

namespace {

using core::Fault;

/// The parameters that change the spectrum of today; dark energy does not.
constexpr std::array<std::string_view, 5> kOfSpectrum = {"omega_m", "sigma8", "n_s", "h", "omega_b"};
constexpr const char* kTransfer = "transfer";

std::optional<double> number_in(const core::Facts& facts, std::string_view name) {
  const auto found = facts.find(name);
  return found == facts.end() ? std::nullopt : found->second.number();
}

/// The transfer function that facts state; empty without one, or with several.
std::string transfer_in(const core::Facts& facts) {
  const auto found = facts.find(kTransfer);
  return found == facts.end() || found->second.is_several() ? "" : found->second.text();
}

}  // namespace

double StatedSpectrum::variance(int side) const {
  const int half = (side - 1) / 2;
  const double fundamental = 2 * std::numbers::pi / box_mpc_h();
  std::vector<double> waves(static_cast<std::size_t>(3 * half * half + 1));  // of each k²
  for (int kx = -half; kx <= half; ++kx) {
    for (int ky = -half; ky <= half; ++ky) {
      for (int kz = -half; kz <= half; ++kz)
        waves[static_cast<std::size_t>(kx * kx + ky * ky + kz * kz)] += 1;
    }
  }
  const sim::LinearPower today = power();
  double sum = 0;
  for (std::size_t square = 1; square < waves.size(); ++square) {
    if (waves[square] > 0) sum += waves[square] * today(fundamental * std::sqrt(static_cast<double>(square)));
  }
  return sum / std::pow(box_mpc_h(), 3);
}

void declare_spectrum(core::Options& options) {
  for (const std::string_view name : kOfSpectrum)
    options.add(histogram::option_of(name) + " X", std::nullopt,
                fmt::format("{} [the universe's]", core::find_cosmology_parameter(name)->meaning));
  sim::TransferChoice::declare(options, std::nullopt);
}

std::string options_of(const StatedSpectrum& spectrum) {
  std::string options;
  for (const std::string_view name : kOfSpectrum)
    options += fmt::format("--{} {} ", histogram::option_of(name),
                           spectrum.cosmology.*core::find_cosmology_parameter(name)->member);
  return options + fmt::format("--transfer {}", spectrum.transfer.transfer);
}

void refuse_spectrum(const core::Options& options, const std::string& with) {
  std::vector<std::string> names = {kTransfer, "transfer-units"};
  for (const std::string_view name : kOfSpectrum) names.push_back(histogram::option_of(name));
  for (const std::string& name : names)
    core::ensure(!options.chosen(name), Fault::usage, "Option --{} applies only with {}: leave it out.", name,
                 with);
}

StatedSpectrum stated_spectrum(const core::Options& options, const core::Facts& facts,
                               const core::Length& box, const std::string& name) {
  StatedSpectrum spectrum{{}, {}, box};
  std::vector<std::string> unknown, remedies;
  for (const std::string_view parameter : kOfSpectrum) {
    const std::string option = histogram::option_of(parameter);
    const std::optional<double> stated = number_in(facts, parameter);
    double& value = spectrum.cosmology.*core::find_cosmology_parameter(parameter)->member;
    if (options.given(option)) {
      value = options.number(option);
    } else if (stated) {
      value = *stated;
    } else {
      unknown.emplace_back(parameter);
      remedies.push_back("--" + option);
    }
  }
  const std::string stated = transfer_in(facts);
  if (!options.given(kTransfer) && stated.empty()) {
    unknown.emplace_back("a transfer function");
    remedies.emplace_back("--transfer");
  }
  core::ensure(unknown.empty(), Fault::config,
               "{} does not state {}, on which a sample of its initial conditions depends: give {}.", name,
               fmt::join(unknown, ", "), fmt::join(remedies, ", "));
  core::validate(spectrum.cosmology);
  core::ensure(options.given(kTransfer) || !stated.starts_with(sim::kTableFact), Fault::config,
               "{} was made with the spectrum of a table ({}): give its file as --transfer.", name, stated);
  spectrum.transfer = sim::TransferChoice::read(
      options.given(kTransfer) ? options : options.with_defaults({{kTransfer, stated}}),
      spectrum.cosmology.h);
  const double f_nl = number_in(facts, "f_nl").value_or(0);
  core::ensure(
      f_nl == 0, Fault::config,
      "{} began with f_nl = {}, and samples of initial conditions are Gaussian: give a universe without "
      "it.",
      name, f_nl);
  return spectrum;
}

std::optional<StatedSpectrum> known_spectrum(const core::Facts& facts, const core::Length& box) {
  StatedSpectrum spectrum{{}, {}, box};
  for (const std::string_view parameter : kOfSpectrum) {
    const std::optional<double> stated = number_in(facts, parameter);
    if (!stated) return std::nullopt;
    spectrum.cosmology.*core::find_cosmology_parameter(parameter)->member = *stated;
  }
  spectrum.transfer.transfer = transfer_in(facts);
  if (core::find_row(sim::kTransferFunctions, spectrum.transfer.transfer) == nullptr) return std::nullopt;
  return spectrum;
}

}  // namespace cosmo::infer
