#include "core/universe/cosmology_words.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>

#include "core/error.hpp"

namespace cosmo::core {

namespace {

struct Word {
  const char* parameter;
  const char* word;
};

/// What headers of simulations and tables of their parameters have.
constexpr auto kWords = std::to_array<Word>({{"omega_m", "omega_m"},
                                             {"omega_m", "Om"},
                                             {"omega_m", "Omega0"},
                                             {"omega_m", "OmegaMatter"},
                                             {"omega_m", "Omega_m0"},
                                             {"omega_m", "Om0"},
                                             {"omega_m", "Om_m"},
                                             {"omega_m", "Ωm"},
                                             {"sigma8", "Sigma8"},
                                             {"sigma8", "s8"},
                                             {"sigma8", "σ8"},
                                             {"n_s", "n_s"},
                                             {"n_s", "PrimordialIndex"},
                                             {"n_s", "n_spec"},
                                             {"n_s", "SpectralIndex"},
                                             {"n_s", "ScalarSpectralIndex"},
                                             {"h", "h"},
                                             {"h", "HubbleParam"},
                                             {"h", "HubbleParameter"},
                                             {"h", "little_h"},
                                             {"h", "hlittle"},
                                             {"h", "h100"},
                                             {"omega_b", "omega_b"},
                                             {"omega_b", "Ob"},
                                             {"omega_b", "Ob0"},
                                             {"omega_b", "Ωb"},
                                             {"omega_b", "OmegaBaryon"},
                                             {"omega_b", "OmegaBaryons"},
                                             {"omega_b", "Omega_b0"},
                                             {"w0", "w0"},
                                             {"w0", "w"},
                                             {"w0", "w_de"},
                                             {"w0", "w0_fld"},
                                             {"w0", "w_DE0"},
                                             {"wa", "wa"},
                                             {"wa", "wa_fld"},
                                             {"wa", "w_DEa"},
                                             {"wa", "w_a"}});

}  // namespace

std::string simplified_name(std::string_view name) {
  std::string word;
  for (const char c : name) {
    if (c != ' ' && c != '_') word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return word;
}

std::string parameter_called(std::string_view word) {
  const std::string simplified = simplified_name(word);
  if (simplified == "s8" && word.starts_with('S')) return std::string(word);
  const auto found =
      std::ranges::find_if(kWords, [&](const Word& row) { return simplified_name(row.word) == simplified; });
  return found == kWords.end() ? std::string(word) : found->parameter;
}

std::optional<OtherForm> other_form(std::string_view word) {
  const std::string name = simplified_name(word);
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
  };
  const char* matter = "the density of all matter, which is that of cold matter plus omega_b";
  if (name == "s8" && word.starts_with('S'))
    return OtherForm{"sigma8", "which is S8 over the root of omega_m / 0.3"};
  if (is_one_of({"h0", "hubble"})) return OtherForm{"h", "which is H0 over 100"};
  if (is_one_of({"ombh2", "obh2", "omegabh2", "wb", "littleomegab"}))
    return OtherForm{"omega_b", "which is this density over h²"};
  if (is_one_of({"ommh2", "omh2", "omegamh2", "wm"}))
    return OtherForm{"omega_m", "which is this density over h²"};
  if (is_one_of({"omch2", "och2", "omegach2", "omegacdmh2", "omegadmh2", "wc", "wcdm"}))
    return OtherForm{"omega_m", "which is this density plus that of baryons, over h²"};
  if (is_one_of({"omegac", "oc", "omegacdm", "omegadm", "ocdm"})) return OtherForm{"omega_m", matter};
  if (is_one_of(
          {"as", "as1e9", "109as", "logas", "ln10as", "ln10^{10}as", "ln1010as", "log1010as", "sigma8cb"}))
    return OtherForm{"sigma8", "that of all matter at z = 0, since no amplitude of another kind is read"};
  return std::nullopt;
}

void refuse_other_form(const Cell& name) {
  constexpr std::size_t kShown = 40;
  if (const auto form = other_form(name.text))
    fail(Fault::format, "{} names a column '{}': write {}, {}.", name.place(), name.text.substr(0, kShown),
         form->parameter, form->relation);
}

}  // namespace cosmo::core
