#pragma once

#include <string>

namespace cosmo::core {

/// The name of this machine.
std::string host_name();

}  // namespace cosmo::core
