#pragma once

#include <cstddef>
#include <filesystem>
#include <ios>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cosmo::core {

/// A line of a text file, without its end.
struct TextLine {
  std::size_t number;  ///< from 1, for messages about the line
  std::string_view text;
};

/// A text file that a user wrote, read whole. Messages about it name the file and the line. A UTF-8 byte
/// order mark is not part of its lines, which end as those of Unix, Windows or old Macs.
class TextFile {
 public:
  /// Throws Error{io} if it cannot be read, Error{format} if it is larger than 256 MiB, has a line of more
  /// than 64 KiB or is not text.
  explicit TextFile(const std::filesystem::path& path);
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  const std::string& path() const { return path_; }
  const std::string& text() const { return text_; }
  /// All lines that are not blank; valid as long as this object.
  const std::vector<TextLine>& lines() const { return lines_; }
  /// "FILE line N", to begin a message.
  std::string place(const TextLine& line) const;
  /// The number in a cell of `line`. Throws Error{format} unless all of the cell is one finite number.
  double number(const TextLine& line, std::string_view cell) const;

 private:
  std::string path_;
  std::string text_;
  std::vector<TextLine> lines_;
};

/// The finite number that all of a text is, as C, Fortran (1.0D-04, 0.7-100) or people (+0.3) write it.
std::optional<double> number_in(std::string_view text);

/// The mark with which some editors begin UTF-8 files.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Writes the text to a file, or appends it with std::ios::app. Throws Error{io} naming the file.
void write_text(const std::filesystem::path& path, const std::string& text,
                std::ios::openmode mode = std::ios::trunc);

/// `text` without white space around it.
std::string_view trimmed(std::string_view text);
/// The words of `text`, which are separated by white space.
std::vector<std::string_view> words_of(std::string_view text);
/// The parts of `text` between separators, trimmed; one more than there are separators.
std::vector<std::string_view> cells_of(std::string_view text, char separator);

}  // namespace cosmo::core
