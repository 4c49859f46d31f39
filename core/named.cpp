#include "core/named.hpp"

namespace cosmo::core {

std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 5;
  const std::size_t shown = names.size() > kMost + 1 ? kMost : names.size();
  const std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return shown < names.size() ? fmt::format("{} and {} more", text, names.size() - shown) : text;
}

std::string alternatives(const std::vector<std::string>& texts) {
  std::string all;
  for (std::size_t i = 0; i < texts.size(); ++i)
    all += (i == 0 ? "" : i + 1 < texts.size() ? ", " : " or ") + texts[i];
  return all;
}

}  // namespace cosmo::core
