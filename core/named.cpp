#include "core/named.hpp"

namespace cosmo::core {

std::string alternatives(const std::vector<std::string>& texts) {
  std::string all;
  for (std::size_t i = 0; i < texts.size(); ++i)
    all += (i == 0 ? "" : i + 1 < texts.size() ? ", " : " or ") + texts[i];
  return all;
}

}  // namespace cosmo::core
