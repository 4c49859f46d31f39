#pragma once
// Tables of choices: named rows, one of which an option or a file selects.

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace cosmo::core {

/// A row that has only a name and a value.
template <class T>
struct Named {
  const char* name;
  T value;
};

/// "a, b, c and 7 more"
std::string some_of(const std::vector<std::string>& names);

/// "a, b or c"
std::string alternatives(const std::vector<std::string>& texts);

/// The names of a table's rows.
template <class Table>
std::vector<std::string> names_in(const Table& table) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  return names;
}

/// "a (its meaning), b (its meaning) or c (its meaning)", for a table whose rows have a meaning.
template <class Table>
std::string meanings_in(const Table& table) {
  std::vector<std::string> texts;
  for (const auto& row : table) texts.push_back(fmt::format("{} ({})", row.name, row.meaning));
  return alternatives(texts);
}

/// The row called `name`, or nullptr.
template <class Table>
auto find_row(const Table& table, std::string_view name) -> decltype(&*std::begin(table)) {
  for (const auto& row : table) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

/// The row called `name`. Throws Error{config} if there is none: `kind` is what a row is, or its option.
template <class Table>
const auto& row_called(const Table& table, std::string_view name, std::string_view kind) {
  const auto* row = find_row(table, name);
  ensure(row != nullptr, Fault::config, "There is no {} \"{}\": use {}.", kind, name,
         alternatives(names_in(table)));
  return *row;
}

}  // namespace cosmo::core
