#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace cosmo::core {

/// Base64 as in RFC 4648, on one line.
std::string base64(std::span<const std::byte> bytes);

}  // namespace cosmo::core
