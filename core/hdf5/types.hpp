#pragma once

#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/hdf5/hdf5.hpp"

namespace cosmo::core::hdf5 {

/// The stored form of a native type of number.
inline hid_t little_endian(hid_t type) {
  const std::pair<hid_t, hid_t> table[] = {
      {H5T_NATIVE_FLOAT, H5T_IEEE_F32LE}, {H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE},
      {H5T_NATIVE_UINT8, H5T_STD_U8LE},   {H5T_NATIVE_UINT16, H5T_STD_U16LE},
      {H5T_NATIVE_UINT32, H5T_STD_U32LE}, {H5T_NATIVE_UINT64, H5T_STD_U64LE},
      {H5T_NATIVE_INT32, H5T_STD_I32LE},  {H5T_NATIVE_INT64, H5T_STD_I64LE}};
  for (const auto& [native, stored] : table) {
    if (H5Tequal(type, native) > 0) return stored;
  }
  return type;
}

/// The dataspace of an array; of a single value if `shape` is empty.
inline Handle space_of(const Shape& shape) {
  if (shape.empty()) return Handle(H5Screate(H5S_SCALAR), H5Sclose);
  return Handle(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), H5Sclose);
}

/// Throws Error{io} naming `where`, a file or an object in it, unless it could be written.
inline void ensure_written(bool good, const std::string& where) {
  ensure(good, Fault::io, "{} cannot be written: check free space and permissions.", where);
}

}  // namespace cosmo::core::hdf5
