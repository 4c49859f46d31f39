#pragma once
// HTML by hand: content is markup, whatever comes from files is escaped first.

#include <string>
#include <vector>

#include "core/picture/svg_plot.hpp"

namespace cosmo::infer::html {

using core::svg::escaped;

/// An image that is both in a file and in the page.
struct Figure {
  std::string file;     ///< relative to the output directory
  std::string content;  ///< bytes of an .svg or .png
  std::string alt;      ///< plain text on what it shows
  std::string caption;  ///< markup of its own, or empty
};

/// "figures/errors_omega_m.svg"; characters other than letters and digits become _.
std::string figure_file(const std::string& kind, std::string parameter);

/// One <tr>.
struct Row {
  std::string head;
  std::vector<std::string> cells;
  std::string style = {};  ///< class
};

std::string section(const std::string& id, const std::string& title, const std::string& content);
std::string paragraph(const std::string& content, const std::string& style = {});
/// Columns of numbers under their names; `corner` stands over the heads of the rows.
std::string table(const std::string& corner, const std::vector<std::string>& columns,
                  const std::vector<Row>& rows);
/// The same, where columns are too many for a phone: there every cell has a line, after its column's name,
/// which is plain text.
std::string tall_table(const std::string& corner, const std::vector<std::string>& columns,
                       const std::vector<Row>& rows);
/// A warning over everything else, and one beside the results; plain text.
std::string alarm(const std::string& text);
std::string doubt(const std::string& text);
std::string list(const std::vector<std::string>& items, const std::string& style = {});
/// Names and values; `style` "long" gives each a line of its own.
std::string facts(const std::vector<std::pair<std::string, std::string>>& entries,
                  const std::string& style = {});
/// Figures side by side, where there is room, and what they have in common.
std::string gallery(const std::vector<Figure>& figures, const std::string& caption,
                    const std::string& style = {});
/// A part that opens at a click, and is open in print if the browser can do that.
std::string details(const std::string& summary, const std::string& content);
/// The whole document.
std::string page(const std::string& title, const std::string& content);

}  // namespace cosmo::infer::html
