#include "core/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace cosmo::core {

namespace {

/// Number of bytes of the UTF-8 character that `text` begins with (RFC 3629), or 0.
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first < 0xF0) {
    const bool shortest = first != 0xE0 || second >= 0xA0, no_surrogate = first != 0xED || second < 0xA0;
    return follows(1) && follows(2) && shortest && no_surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first < 0xF5) {
    const bool shortest = first != 0xF0 || second >= 0x90, in_range = first != 0xF4 || second < 0x90;
    return follows(1) && follows(2) && follows(3) && shortest && in_range ? 4 : 0;
  }
  return 0;
}

/// The number of a UTF-8 character.
char32_t number_of(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first;
  char32_t number = first & (0x7Fu >> character.size());
  for (const char byte : character.substr(1))
    number = number << 6 | (static_cast<unsigned char>(byte) & 0x3Fu);
  return number;
}

/// Whether the character is one that a terminal obeys: a control character, or one of Unicode's that are not
/// seen, begin a line or turn the direction of writing. Those that join letters are none of them.
bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x61C || c == 0x200B || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF;
}

std::string as_number(char32_t c) {
  if (c == '\n') return "\\n";
  const auto number = static_cast<std::uint32_t>(c);
  return c < 0x80 ? fmt::format("\\x{:02x}", number) : fmt::format("\\u{:04x}", number);
}

/// `text` with each control character not in `kept`, and each byte that is not UTF-8, written as a number.
std::string without_controls(std::string_view text, std::string_view kept) {
  std::string result;
  while (!text.empty()) {
    const std::size_t size = character(text);
    if (size == 0) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (const char32_t c = number_of(text.substr(0, size));
               is_control(c) && kept.find(text[0]) == std::string_view::npos) {
      result += as_number(c);
    } else {
      result += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return result;
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (std::size_t size = 1; !text.empty(); text.remove_prefix(size)) {
    size = character(text);
    if (size == 0) return false;
  }
  return true;
}

std::string printable(std::string_view text, std::size_t most) {
  if (text.size() > most) {
    const std::size_t half = most / 2, left_out = text.size() - 2 * half;
    return printable(text.substr(0, half)) + fmt::format(" [{} bytes] ", left_out) +
           printable(text.substr(text.size() - half));
  }
  return without_controls(text, "\n\t");
}

std::string one_line(std::string_view text) { return without_controls(text, ""); }

}  // namespace cosmo::core
