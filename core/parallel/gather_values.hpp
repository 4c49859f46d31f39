#pragma once

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "core/parallel/communicator.hpp"

namespace cosmo::core {

/// Every rank's values, in rank order, on every rank. Collective over comm.
template <class T>
std::vector<T> gather_values(const Communicator& comm, const std::vector<T>& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> all;
  for (const std::string& bytes :
       comm.gather(std::string(reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(T)))) {
    const std::size_t old = all.size();
    all.resize(old + bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(static_cast<void*>(all.data() + old), bytes.data(), bytes.size());
  }
  return all;
}

}  // namespace cosmo::core
