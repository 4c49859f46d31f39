#pragma once
// Tables of comma-separated values that users write: a header of column names, then one line per row. Lines
// that begin with # are comments. A file may have up to 256 MiB (core/file/text_file.hpp).

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/file/text_file.hpp"

namespace cosmo::core {

/// A cell and its place; valid as long as its table.
struct Cell {
  const TextFile& file;
  const TextLine& line;
  std::string_view text;

  /// "FILE line 3", to begin a message.
  std::string place() const { return file.place(line); }
  /// Throws Error{format} unless it is one finite number.
  double number() const { return file.number(line, text); }
  /// Throws Error{format} naming the column unless it is a whole number from 0 to limit - 1.
  std::uint64_t whole_number(std::string_view column, std::uint64_t limit) const;
};

/// Throws Error{format} unless the header's cell is one of the known names; the message has the one that was probably meant.
void ensure_column(const Cell& name, const std::vector<std::string>& known);

class CsvTable {
 public:
  /// Each row describes a `thing`. Throws as TextFile does, and Error{format} if there is no row.
  CsvTable(const std::filesystem::path& path, std::string_view thing);

  /// The columns' names, each of which `check` may reject by throwing. Throws Error{format} for a duplicate.
  std::vector<std::string> names(const std::function<void(const Cell&)>& check) const;
  /// The place of the header, to begin a message.
  std::string header_place() const { return file_.place(lines_.front()); }
  /// Calls `read` with the cells of each row. Throws Error{format} if their number differs from the header's.
  void for_each_row(const std::function<void(const std::vector<Cell>&)>& read) const;

 private:
  std::vector<Cell> cells_of(const TextLine& line) const;

  TextFile file_;
  std::vector<TextLine> lines_;
};

}  // namespace cosmo::core
