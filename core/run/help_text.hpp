#pragma once
// Text of --help, broken into lines.

#include <cstddef>
#include <string>
#include <string_view>

namespace cosmo::core {

/// Columns of a line of help: the terminal's, where standard output is one, and 100 at most.
std::size_t help_width();

/// The words of `text` in lines of at most `width` columns, which a longer word exceeds; the first begins at
/// column `begun`, others after `indent` blanks. All but the last end with `ending`.
std::string wrapped(std::string_view text, std::size_t width, std::size_t begun, std::size_t indent,
                    std::string_view ending = "");

}  // namespace cosmo::core
