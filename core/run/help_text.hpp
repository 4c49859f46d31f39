#pragma once
// Text of --help and manual pages.

#include <cstddef>
#include <string>
#include <string_view>

namespace cosmo::core {

/// Width of help lines in columns: the terminal's if standard output is one, from 60 to 100, or else 80.
std::size_t help_width();

/// The words of `text` in lines of at most `width` columns, which only a longer word exceeds; the first line
/// begins at column `begun`, the others after `indent` blanks. All but the last end with `ending`.
std::string wrapped(std::string_view text, std::size_t width, std::size_t begun, std::size_t indent,
                    std::string_view ending = "");

/// `text` with the letters of ASCII in upper case.
std::string upper(std::string text);

}  // namespace cosmo::core
