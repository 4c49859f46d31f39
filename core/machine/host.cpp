#include "core/machine/host.hpp"

#include <unistd.h>

#include <array>

namespace cosmo::core {

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace cosmo::core
