#pragma once

namespace cosmo::core {

/// A row of a table of choices, for Options::entry().
template <class T>
struct Named {
  const char* name;
  T value;
};

}  // namespace cosmo::core
