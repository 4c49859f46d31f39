#include "core/near_name.hpp"

#include <algorithm>
#include <cctype>
#include <limits>

namespace cosmo::core {

namespace {

/// The letters, in lower case, and digits.
std::string letters_of(std::string_view word) {
  std::string letters;
  for (const char c : word) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0) letters.push_back(static_cast<char>(std::tolower(letter)));
  }
  return letters;
}

/// The number of letters that are left out, added, replaced or exchanged with their neighbour.
std::size_t distance(const std::string& a, const std::string& b) {
  // d[i][j]: between the first i letters of a and the first j of b
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

/// The first letter of each word of a name, in lower case: "lr" of "learning-rate".
std::string initials_of(const std::string& name) {
  std::string initials;
  bool begins = true;
  for (const char c : name) {
    const std::string letter = letters_of(std::string_view(&c, 1));
    if (begins) initials += letter;
    begins = letter.empty();
  }
  return initials;
}

/// The only name of several words that has these initials.
std::optional<std::string> name_of_initials(const std::string& letters,
                                            const std::vector<std::string>& names) {
  const auto has = [&](const std::string& name) {
    return letters.size() > 1 && initials_of(name) == letters;
  };
  const auto found = std::ranges::find_if(names, has);
  if (found == names.end() || std::any_of(found + 1, names.end(), has)) return std::nullopt;
  return *found;
}

}  // namespace

std::optional<std::string> near_name(std::string_view word, const std::vector<std::string>& names) {
  constexpr std::size_t kLongest = 64;  // longer words are not names
  const std::string letters = letters_of(word.substr(0, kLongest));
  std::optional<std::string> nearest;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const std::string& name : names) {
    const std::string known = letters_of(name);
    const std::size_t apart = distance(letters, known);
    if (apart > std::min<std::size_t>(2, known.size() / 3) || apart > least) continue;
    nearest = apart == least ? std::nullopt : std::optional(name);
    least = apart;
  }
  return nearest ? nearest : name_of_initials(letters, names);
}

}  // namespace cosmo::core
