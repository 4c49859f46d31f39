#pragma once

#include <string>

namespace cosmo::infer {

/// A parameter's symbol as HTML, "Ω<sub>m</sub>" for omega_m; the name itself where there is no symbol.
std::string html_symbol(const std::string& parameter);

/// The same as the content of an SVG text.
std::string svg_symbol(const std::string& parameter);

}  // namespace cosmo::infer
