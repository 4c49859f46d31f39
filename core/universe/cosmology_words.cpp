#include "core/universe/cosmology_words.hpp"

#include <algorithm>
#include <array>
#include <cctype>

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
                                             {"sigma8", "Sigma8"},
                                             {"sigma8", "s8"},
                                             {"n_s", "n_s"},
                                             {"n_s", "PrimordialIndex"},
                                             {"n_s", "n_spec"},
                                             {"n_s", "SpectralIndex"},
                                             {"n_s", "ScalarSpectralIndex"},
                                             {"h", "h"},
                                             {"h", "HubbleParam"},
                                             {"h", "HubbleParameter"},
                                             {"h", "little_h"},
                                             {"omega_b", "omega_b"},
                                             {"omega_b", "Ob"},
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
  if (word == "S8") return std::string(word);
  const std::string simplified = simplified_name(word);
  const auto found =
      std::ranges::find_if(kWords, [&](const Word& row) { return simplified_name(row.word) == simplified; });
  return found == kWords.end() ? std::string(word) : found->parameter;
}

}  // namespace cosmo::core
