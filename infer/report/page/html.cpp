#include "infer/report/page/html.hpp"

#include <fmt/format.h>

#include <cctype>

#include "core/format/base64.hpp"
#include "infer/report/page/style.hpp"

namespace cosmo::infer::html {

namespace {

std::string attribute(const std::string& style) {
  return style.empty() ? "" : fmt::format(" class=\"{}\"", style);
}

std::string image(const Figure& figure) {
  const char* type = figure.file.ends_with(".svg") ? "image/svg+xml" : "image/png";
  return fmt::format("<img src=\"data:{};base64,{}\" alt=\"{}\">", type,
                     core::base64(std::as_bytes(std::span(figure.content))), escaped(figure.alt));
}

std::string head(const std::string& corner, const std::vector<std::string>& columns) {
  std::string html = fmt::format("<thead><tr><th>{}</th>", corner);
  for (const std::string& column : columns) html += fmt::format("<th>{}</th>", column);
  return html + "</tr></thead>\n";
}

}  // namespace

std::string figure_file(const std::string& kind, std::string parameter) {
  for (char& c : parameter) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return fmt::format("figures/{}_{}.svg", kind, parameter);
}

std::string section(const std::string& id, const std::string& title, const std::string& content) {
  return fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", id, title, content);
}

std::string paragraph(const std::string& content, const std::string& style) {
  return fmt::format("<p{}>{}</p>\n", attribute(style), content);
}

std::string alarm(const std::string& text) {
  return fmt::format("<div class=\"alarm\" role=\"alert\">{}</div>\n", escaped(text));
}

std::string doubt(const std::string& text) {
  return fmt::format("<div class=\"doubt\">{}</div>\n", escaped(text));
}

std::string table(const std::string& corner, const std::vector<std::string>& columns,
                  const std::vector<Row>& rows) {
  std::string html = "<div class=\"wide\"><table>\n" + head(corner, columns) + "<tbody>\n";
  for (const Row& row : rows) {
    html += fmt::format("<tr{}><th scope=\"row\">{}</th>", attribute(row.style), row.head);
    for (const std::string& cell : row.cells) html += fmt::format("<td>{}</td>", cell);
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string tall_table(const std::string& corner, const std::vector<std::string>& columns,
                       const std::vector<Row>& rows) {
  std::string html = "<div class=\"wide\"><table class=\"tall\">\n" + head(corner, columns) + "<tbody>\n";
  for (const Row& row : rows) {
    html += fmt::format("<tr{}><th scope=\"row\">{}</th>", attribute(row.style), row.head);
    for (std::size_t c = 0; c < row.cells.size(); ++c)
      html += fmt::format("<td data-column=\"{}\">{}</td>", escaped(columns.at(c)), row.cells[c]);
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string list(const std::vector<std::string>& items, const std::string& style) {
  std::string html = fmt::format("<ul{}>\n", attribute(style));
  for (const std::string& item : items) html += fmt::format("<li>{}</li>\n", item);
  return html + "</ul>\n";
}

std::string facts(const std::vector<std::pair<std::string, std::string>>& entries, const std::string& style) {
  std::string html = fmt::format("<dl{}>\n", attribute(style));
  for (const auto& [name, value] : entries)
    html += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", name, value);
  return html + "</dl>\n";
}

std::string gallery(const std::vector<Figure>& figures, const std::string& caption,
                    const std::string& style) {
  std::string html = fmt::format("<figure>\n<div class=\"gallery {}\">\n", style);
  for (const Figure& figure : figures) {
    html += fmt::format("<div>{}{}</div>\n", image(figure),
                        figure.caption.empty() ? "" : "<p>" + figure.caption + "</p>");
  }
  return html + fmt::format("</div>\n<figcaption>{}</figcaption>\n</figure>\n", caption);
}

std::string details(const std::string& summary, const std::string& content) {
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", summary, content);
}

std::string page(const std::string& title, const std::string& content) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<link rel=\"icon\" "
      "href=\"data:,\">\n<style>\n{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      escaped(title), kStyle, content);
}

}  // namespace cosmo::infer::html
