#include "core/file/text_file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>

#include "core/error.hpp"
#include "core/file/input_file.hpp"

namespace cosmo::core {

namespace {

constexpr std::size_t kMostBytes = std::size_t{256} << 20;
constexpr std::size_t kLongestLine = std::size_t{64} << 10;
constexpr std::string_view kSpace = " \t\r\f\v";

}  // namespace

TextFile::TextFile(const std::filesystem::path& path)
    : path_(path.string()), text_(read_text(path, kMostBytes)) {
  const char line_end = text_.find('\n') == std::string::npos ? '\r' : '\n';
  std::size_t first = text_.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  for (std::size_t number = 1; first < text_.size(); ++number) {
    const std::size_t end = std::min(text_.find(line_end, first), text_.size());
    const TextLine line{number, trimmed(std::string_view(text_).substr(first, end - first))};
    ensure(end - first <= kLongestLine, Fault::format, "{} is longer than {} KiB: give a text table.",
           place(line), kLongestLine >> 10);
    ensure(line.text.find('\0') == std::string_view::npos, Fault::format,
           "{} has a zero byte: give a text table.", place(line));
    if (!line.text.empty()) lines_.push_back(line);
    first = end + 1;
  }
}

std::string TextFile::place(const TextLine& line) const {
  return fmt::format("{} line {}", path_, line.number);
}

double TextFile::number(const TextLine& line, std::string_view cell) const {
  constexpr std::size_t kShown = 40;
  const auto number = number_in(cell);
  ensure(number.has_value(), Fault::format, "{} has '{}' where a finite number is needed: correct the file.",
         place(line), cell.substr(0, kShown));
  return *number;
}

std::optional<double> number_in(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  std::string plain(text);
  const std::size_t letter = plain.find_first_of("dD");
  if (letter != std::string::npos) plain[letter] = 'e';
  const std::size_t sign = plain.find_first_of("+-", 1);
  if (sign != std::string::npos && plain.size() == sign + 4 && plain[sign - 1] >= '0' &&
      plain[sign - 1] <= '9')
    plain.insert(plain.begin() + static_cast<std::ptrdiff_t>(sign),
                 'e');  // an exponent of three digits leaves no place for its letter
  else if (sign != std::string::npos && plain[sign] == '+')
    plain.erase(sign, 1);  // not taken by std::from_chars in older libraries
  double value = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (error != std::errc() || end != plain.data() + plain.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

void write_text(const std::filesystem::path& path, const std::string& text, std::ios::openmode mode) {
  std::ofstream file(path, std::ios::binary | mode);
  file << text << std::flush;
  ensure(file.good(), Fault::io, "{} cannot be written ({}): check free space and permissions.",
         path.string(), std::strerror(errno));
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    words.push_back(text.substr(0, text.find_first_of(kSpace)));
    text.remove_prefix(words.back().size());
  }
  return words;
}

std::vector<std::string_view> cells_of(std::string_view text, char separator) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t end = text.find(separator);
    cells.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return cells;
    text.remove_prefix(end + 1);
  }
}

}  // namespace cosmo::core
