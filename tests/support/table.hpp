#pragma once

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

/// The rows of a golden table: column name to text. Lines that begin with # are skipped, the next names the
/// columns.
inline std::vector<std::map<std::string, std::string>> read_table(const std::string& file) {
  std::ifstream in(fmt::format("{}/{}", COSMO_TEST_DATA, file));
  if (!in) throw std::runtime_error("cannot open " + file);
  const auto cells = [](const std::string& line) {
    std::vector<std::string> result;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) result.push_back(cell);
    return result;
  };
  std::vector<std::string> names;
  std::vector<std::map<std::string, std::string>> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const auto fields = cells(line);
    if (names.empty()) {
      names = fields;
      continue;
    }
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = fields.at(i);
  }
  return rows;
}
