#pragma once
// What codes call the numbers in the headers of their HDF5 snapshots: the one table of their words.

#include <optional>
#include <string>
#include <vector>

#include "core/hdf5/hdf5.hpp"

namespace cosmo::histogram {

/// The numbers of a header, found by all names that are known for them (for parameters core/universe/cosmology_words.cpp).
///
/// Names are compared without case, blanks and underscores, and looked for in /Header, /Parameters, /Cosmology and /Units.
class HeaderNames {
 public:
  /// Reads the names of a file that must outlive this. Throws Error{format} for damaged headers.
  HeaderNames(const core::hdf5::File& file, std::string path);

  /// The full names of the attributes that state a quantity, such as "box_size" or "omega_m", in the order of the groups.
  std::vector<std::string> stating(const std::string& quantity) const;
  /// Its number, from the first attribute that holds numbers, times what that attribute's unit needs. A remark is added if
  /// another states a different one; NaN if one is not finite. An attribute with several elements must repeat one. Throws Error{format} otherwise.
  std::optional<double> number(const std::string& quantity, std::vector<std::string>& remarks) const;
  /// The name of the first attribute that states a list, as Gadget's numbers by type. Throws Error{format} with its `usual` name if
  /// there is none.
  std::string list(const std::string& quantity, const std::string& usual) const;
  /// Attributes that seem to state a quantity and are not in the table.
  std::vector<std::string> not_understood() const;

 private:
  const core::hdf5::File& file_;
  std::string path_;
  std::vector<std::string> names_;  ///< all attributes in the groups
};

}  // namespace cosmo::histogram
