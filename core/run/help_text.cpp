#include "core/run/help_text.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

namespace cosmo::core {

namespace {

/// Number of UTF-8 characters.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
}

}  // namespace

std::size_t help_width() {
  constexpr std::size_t kLeast = 60, kUsual = 80, kMost = 100;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsual;
  return std::clamp<std::size_t>(size.ws_col, kLeast, kMost);
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t begun, std::size_t indent,
                    std::string_view ending) {
  std::string lines;
  std::size_t column = begun;
  bool first = true;  // whether the word begins a line
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const std::size_t needed = columns_of(word) + (first ? 0 : 1);
    if (!first && column + needed + columns_of(ending) > width) {
      lines += std::string(ending) + "\n" + std::string(indent, ' ');
      column = indent;
      first = true;
    }
    if (!first) lines += ' ';
    lines += word;
    column += columns_of(word) + (first ? 0 : 1);
    first = false;
  }
  return lines;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

}  // namespace cosmo::core
