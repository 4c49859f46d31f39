#include "histogram/particles/header_names.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "core/file/text_file.hpp"
#include "core/universe/cosmology.hpp"
#include "core/universe/cosmology_words.hpp"

namespace cosmo::histogram {

using core::ensure;
using core::Fault;

namespace {

constexpr std::array<const char*, 4> kGroups = {"Header", "Parameters", "Cosmology", "Units"};

/// A word for a quantity; the quantity is the attribute's value times `factor`.
struct Word {
  const char* quantity;
  std::string_view word;
  double factor = 1;
};

constexpr auto kWords = std::to_array<Word>({{"here", "NumPart_ThisFile"},
                                             {"in_all", "NumPart_Total"},
                                             {"in_all_high", "NumPart_Total_HighWord"},
                                             {"masses", "MassTable"},
                                             {"files", "NumFilesPerSnapshot"},
                                             {"files", "NumFilesPerSnap"},
                                             {"files", "NumFiles"},
                                             {"box_size", "BoxSize"},
                                             {"box_size", "BoxLength"},
                                             {"redshift", "Redshift"},
                                             {"time", "Time"},
                                             {"scale_factor", "Scale-factor"},
                                             {"scale_factor", "ScaleFactor"},
                                             {"scale_factor", "ExpansionFactor"},
                                             {"h", "H0", 0.01},
                                             {"length_cm", "UnitLength_in_cm"},
                                             {"length_cm", "UnitLength_In_CGS"},
                                             {"length_cm", "UnitLength"},
                                             {"plain_length_cm", "Unit length in cgs (U_L)"},
                                             {"mass_g", "UnitMass_in_g"},
                                             {"mass_g", "UnitMass_In_CGS"},
                                             {"plain_mass_g", "Unit mass in cgs (U_M)"},
                                             {"spectrum_type", "PowerSpectrumType"},
                                             {"renormalised", "ReNormalizeInputSpectrum"},
                                             {"dark_energy", "OmegaLambda"},
                                             {"dark_energy", "OmegaDE"},
                                             {"neutrinos", "OmegaNu"},
                                             {"neutrinos_today", "OmegaNu0"}});

/// Beginnings of words for quantities of a universe and its units, and those among them that are not needed.
constexpr std::array<std::string_view, 5> kTelling = {"omega", "sigma", "hubble", "unitlength", "unitmass"};
constexpr std::array<std::string_view, 12> kUnneeded = {
    "omegak",   "omegalambda", "omegade",   "omegar", "omegaradiation", "omegag",
    "omegacdm", "omegaur",     "omegadcdm", "hubble", "hubbletime",     "omegal"};

/// The number that a text attribute holds; nothing for other texts, and for what is not a text.
std::vector<double> number_in_text(const core::hdf5::File& file, const std::string& name) {
  try {
    const auto value = core::number_in(core::trimmed(file.text_attribute(name)));
    return value ? std::vector<double>{*value} : std::vector<double>{};
  } catch (const core::Error&) {
    return {};
  }
}

/// The factor from an attribute's value to a quantity; nothing if it does not state that.
std::optional<double> factor_of(std::string_view attribute, const std::string& quantity) {
  const std::string_view name = attribute.substr(attribute.rfind('/') + 1);
  // SWIFT's w is that of the snapshot's time, beside w_0.
  if (name != "w" && core::parameter_called(name) == quantity) return 1;
  const std::string word = core::simplified_name(name);
  const auto row = std::ranges::find_if(kWords, [&](const Word& of) {
    return of.quantity == quantity && core::simplified_name(of.word) == word;
  });
  return row == kWords.end() ? std::nullopt : std::optional(row->factor);
}

}  // namespace

HeaderNames::HeaderNames(const core::hdf5::File& file, std::string path)
    : file_(file), path_(std::move(path)) {
  for (const char* group : kGroups) {
    if (!file.has(group)) continue;
    for (const std::string& name : file.attributes_of(group))
      names_.push_back(fmt::format("{}/{}", group, name));
  }
}

std::vector<std::string> HeaderNames::stating(const std::string& quantity) const {
  std::vector<std::string> found;
  for (const std::string& name : names_) {
    if (factor_of(name, quantity)) found.push_back(name);
  }
  return found;
}

std::optional<double> HeaderNames::number(const std::string& quantity,
                                          std::vector<std::string>& remarks) const {
  std::optional<double> value;
  std::string from;
  for (const std::string& name : stating(quantity)) {
    const std::vector<double> values =
        file_.holds_numbers(name) ? file_.numbers_attribute(name) : number_in_text(file_, name);
    if (values.empty()) {
      remarks.push_back(fmt::format("{} is not a number", name));
      continue;
    }
    if (!std::ranges::all_of(values, [](double of) { return std::isfinite(of); })) return std::nan("");
    ensure(std::ranges::all_of(values, [&](double of) { return of == values.front(); }), Fault::format,
           "{} has {} = {}, where one number is needed (boxes are cubes): give such a snapshot.", path_, name,
           fmt::join(values, ", "));
    const double factor = *factor_of(name, quantity);
    constexpr double kMostH = 2;  // an H0 below this is h
    const double stated = (factor < 1 && values.front() < kMostH ? 1 : factor) * values.front();
    constexpr double kRounding = 1e-4;
    if (!value || (*value == 0 && stated != 0)) {  // a run writes 0 for what it does not use
      value = stated;
      from = name;
    } else if (stated != 0 && std::abs(stated - *value) > kRounding * std::abs(*value)) {
      remarks.push_back(
          fmt::format("{} is {:.6g} and {} is {:.6g}: the first is used", from, *value, name, stated));
    }
  }
  return value;
}

std::string HeaderNames::list(const std::string& quantity, const std::string& usual) const {
  const std::vector<std::string> found = stating(quantity);
  core::ensure(
      !found.empty(), Fault::format,
      "{} has no Header/{}, so it is not a complete file in Gadget's HDF5 layout (docs/reference/formats.md); it has {}. "
      "Convert it, or give a file that is.",
      path_, usual, file_.contents());
  return found.front();
}

std::vector<std::string> HeaderNames::not_understood() const {
  std::vector<std::string> left;
  for (const std::string& name : names_) {
    const std::string short_name = name.substr(name.rfind('/') + 1), word = core::simplified_name(short_name);
    const auto form = core::other_form(short_name);
    const bool telling = (form && stating(form->parameter).empty()) ||
                         std::ranges::any_of(kTelling, [&](auto of) { return word.starts_with(of); }),
               known = core::find_cosmology_parameter(core::parameter_called(short_name)) != nullptr ||
                       std::ranges::any_of(
                           kWords, [&](const Word&row) { return core::simplified_name(row.word) == word; }),
               unneeded = std::ranges::any_of(kUnneeded, [&](auto of) {
                 return word == of || word.starts_with(std::string(of) + "[");  // SWIFT's units
               });
    if (telling && !known && !unneeded) left.push_back(name);
  }
  return left;
}

}  // namespace cosmo::histogram
