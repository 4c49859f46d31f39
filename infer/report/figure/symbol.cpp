#include "infer/report/figure/symbol.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/picture/svg_plot.hpp"

namespace cosmo::infer {

namespace {

struct Symbol {
  std::string_view parameter, letter, index;
};
constexpr std::array<Symbol, 7> kSymbols = {{{"omega_m", "Ω", "m"},
                                             {"sigma8", "σ", "8"},
                                             {"n_s", "n", "s"},
                                             {"h", "h", ""},
                                             {"omega_b", "Ω", "b"},
                                             {"w0", "w", "0"},
                                             {"wa", "w", "a"}}};

const Symbol* find_symbol(const std::string& parameter) {
  const auto found = std::ranges::find(kSymbols, parameter, &Symbol::parameter);
  return found == kSymbols.end() ? nullptr : &*found;
}

}  // namespace

std::string html_symbol(const std::string& parameter) {
  const Symbol* found = find_symbol(parameter);
  if (found == nullptr) return core::svg::escaped(parameter);
  return found->index.empty() ? fmt::format("<i>{}</i>", found->letter)
                              : fmt::format("<i>{}</i><sub>{}</sub>", found->letter, found->index);
}

std::string svg_symbol(const std::string& parameter) {
  const Symbol* found = find_symbol(parameter);
  if (found == nullptr) return core::svg::escaped(parameter);
  return found->index.empty()
             ? std::string(found->letter)
             : fmt::format("{}<tspan dy=\"3\" font-size=\"10\">{}</tspan>", found->letter, found->index);
}

}  // namespace cosmo::infer
