#include "histogram/field_file.hpp"

#include <optional>

#include "core/error.hpp"
#include "core/finite.hpp"
#include "core/hdf5/hdf5.hpp"
#include "core/universe/cosmology_attributes.hpp"

namespace cosmo::histogram {

void write_field(const core::Communicator& comm, const std::filesystem::path& path,
                 const FieldFileHeader& header, std::span<const float> values) {
  comm.agree([&] {
    core::ensure(
        core::all_finite(values), core::Fault::numeric,
        "{}: a value of the field is not a finite number: check the cosmology and the steps of the simulation.",
        path.string());
  });
  const auto n = static_cast<hsize_t>(header.cells_per_side);
  const core::Slab slab = core::slab_of(header.cells_per_side, comm.rank(), comm.size());
  const auto first = static_cast<hsize_t>(slab.first), planes = static_cast<hsize_t>(slab.size());
  const bool scalar = header.components == 1;
  const auto components = static_cast<hsize_t>(header.components);
  core::hdf5::File file = core::hdf5::File::create(path, comm, [&](core::hdf5::File& made) {
    made.set_attribute("schema", std::string(kFieldSchema));
    made.set_attribute("quantity", header.quantity);
    core::write_voxels_of(made, header, header.grid());
    made.create_dataset<float>(header.quantity,
                               scalar ? core::hdf5::Shape{n, n, n} : core::hdf5::Shape{components, n, n, n});
  });
  std::optional<core::hdf5::Dataset> field;
  comm.agree([&] { field.emplace(file.dataset(header.quantity)); });
  comm.agree([&] {
    if (scalar)
      field->write({first, 0, 0}, {planes, n, n}, values);
    else
      field->write({0, first, 0, 0}, {components, planes, n, n}, values);
  });
  field.reset();
  comm.agree([&] { file.close(); });
}

}  // namespace cosmo::histogram
