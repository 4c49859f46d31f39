#pragma once
// Tables that users write: a header of column names, then one line per row. Cells are separated by commas, by semicolons, or,
// where the header has neither, by blanks; they may be in double quotes. Lines that begin with # are comments; the last one
// before the first row is the header if that row has a number. A file may have up to 256 MiB (core/file/text_file.hpp).

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
  /// Throws Error{format} unless it is one finite number; 0,31 is 0.31, as some languages write it.
  double number() const;
  /// Throws Error{format} naming the column unless it is a whole number from 0 to limit - 1.
  std::uint64_t whole_number(std::string_view column, std::uint64_t limit) const;
};

/// Throws Error{format} unless the header's cell is one of the known names, or is called one; the message has the one that was
/// probably meant.
void ensure_column(const Cell& name, std::string_view called, const std::vector<std::string>& known);
/// Whether a header's cell names rows rather than values: nothing, as pandas writes above its index, or "id", "index", "name".
bool names_rows(std::string_view name);

class CsvTable {
 public:
  /// Each row describes a `thing`. Throws as TextFile does, and Error{format} if there is no row.
  CsvTable(const std::filesystem::path& path, std::string_view thing);

  /// The columns' names here by what `name` makes of the header's cells; it may throw, and return "" for a column that is not
  /// used. Throws Error{format} for a duplicate, and for a header that is missing.
  std::vector<std::string> names(const std::function<std::string(const Cell&)>& name) const;
  /// The place of the header, to begin a message.
  std::string header_place() const { return file_.place(header_); }
  /// Calls `read` with the cells of each row. Throws Error{format} if their number differs from the header's.
  void for_each_row(const std::function<void(const std::vector<Cell>&)>& read) const;

 private:
  std::vector<Cell> cells_of(const TextLine& line, char separator) const;

  TextFile file_;
  TextLine header_ = {};
  char separator_ = ',';  ///< between the cells of rows
  std::vector<TextLine> rows_;
};

}  // namespace cosmo::core
