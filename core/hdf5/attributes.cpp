#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"
#include "core/file/text_file.hpp"
#include "core/hdf5/hdf5.hpp"
#include "core/hdf5/text.hpp"
#include "core/hdf5/types.hpp"
#include "core/printable.hpp"

namespace cosmo::core::hdf5 {

namespace {

constexpr std::size_t kMostText = std::size_t{16} << 20;  ///< largest text of an attribute [bytes]

Handle text_type() {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), H5T_VARIABLE);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  return type;
}

/// "Header/Time" is the attribute Time of the object Header; "Time" is an attribute of the file.
std::pair<std::string, std::string> object_and_name(const std::string& attribute) {
  const std::size_t slash = attribute.rfind('/');
  if (slash == std::string::npos) return {".", attribute};
  return {attribute.substr(0, slash), attribute.substr(slash + 1)};
}

}  // namespace

void File::write_attribute(const std::string& name, hid_t type, const Shape& shape, const void* data) {
  const Handle space = space_of(shape);
  const auto [object, short_name] = object_and_name(name);
  const Handle id(H5Acreate_by_name(id_.get(), object.c_str(), short_name.c_str(), little_endian(type),
                                    space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                  H5Aclose);
  ensure_written(id.get() >= 0 && H5Awrite(id.get(), type, data) >= 0, path_);
}

void File::set_attribute(const std::string& name, const std::string& value) {
  const char* text = value.c_str();
  write_attribute(name, text_type().get(), {}, &text);
}
void File::set_attribute(const std::string& name, double value) {
  write_attribute(name, H5T_NATIVE_DOUBLE, {}, &value);
}
void File::set_attribute(const std::string& name, std::uint64_t value) {
  write_attribute(name, H5T_NATIVE_UINT64, {}, &value);
}
void File::set_attribute(const std::string& name, std::int32_t value) {
  write_attribute(name, H5T_NATIVE_INT32, {}, &value);
}
void File::set_attribute(const std::string& name, const std::vector<std::uint64_t>& values) {
  write_attribute(name, H5T_NATIVE_UINT64, {values.size()}, values.data());
}
void File::set_attribute(const std::string& name, const std::vector<double>& values) {
  write_attribute(name, H5T_NATIVE_DOUBLE, {values.size()}, values.data());
}
void File::set_attribute(const std::string& name, const std::vector<std::string>& values) {
  std::vector<const char*> texts;
  for (const std::string& value : values) texts.push_back(value.c_str());
  write_attribute(name, text_type().get(), {texts.size()}, texts.data());
}

bool File::has_attribute(const std::string& name) const {
  const auto [object, short_name] = object_and_name(name);
  if (!header_of(object)) return false;
  ensure_sound(object, "attribute " + name);
  return H5Aexists_by_name(id_.get(), object.c_str(), short_name.c_str(), H5P_DEFAULT) > 0;
}

std::vector<std::string> File::attributes_of(const std::string& object) const {
  std::vector<std::string> names;
  if (!header_of(object)) return names;
  ensure_sound(object, "attributes of " + object);
  const auto add = [](hid_t, const char* name, const H5A_info_t*, void* all) {
    static_cast<std::vector<std::string>*>(all)->emplace_back(name);
    return herr_t{0};
  };
  H5Aiterate_by_name(id_.get(), object.c_str(), H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, add, &names,
                     H5P_DEFAULT);
  return names;
}

bool File::holds_numbers(const std::string& name) const {
  const auto [object, short_name] = object_and_name(name);
  const Handle id(H5Aopen_by_name(id_.get(), object.c_str(), short_name.c_str(), H5P_DEFAULT, H5P_DEFAULT),
                  H5Aclose);
  const Handle type(id.get() < 0 ? H5I_INVALID_HID : H5Aget_type(id.get()), H5Tclose);
  const H5T_class_t kind = type.get() < 0 ? H5T_NO_CLASS : H5Tget_class(type.get());
  return kind == H5T_FLOAT || kind == H5T_INTEGER;
}

Handle File::open_attribute(const std::string& name, std::set<H5T_class_t> classes, std::size_t& size) const {
  const auto [object, short_name] = object_and_name(name);
  const std::string what = "attribute " + name;
  ensure_present(object, what);
  ensure_own(object, what);
  ensure_sound(object, what);
  if (H5Aexists_by_name(id_.get(), object.c_str(), short_name.c_str(), H5P_DEFAULT) == 0)
    fail_for_lack("/", what);
  Handle id(H5Aopen_by_name(id_.get(), object.c_str(), short_name.c_str(), H5P_DEFAULT, H5P_DEFAULT),
            H5Aclose);
  ensure_read(id.get() >= 0, what);
  const Handle type(H5Aget_type(id.get()), H5Tclose);
  const Handle space(H5Aget_space(id.get()), H5Sclose);
  const hssize_t points = H5Sget_simple_extent_npoints(space.get());
  constexpr hssize_t kMost = 1 << 20;
  ensure(classes.contains(H5Tget_class(type.get())), Fault::format,
         "{} has an {} of another type than {}: write it as such.", path_, what,
         classes.contains(H5T_STRING) ? "text" : "number");
  ensure(points > 0 && points <= kMost, Fault::format, "{} has an {} of {} values: write 1 to {}.", path_,
         what, points, kMost);
  size = static_cast<std::size_t>(points);
  return id;
}

std::vector<double> File::numbers_attribute(const std::string& name) const {
  std::size_t size = 0;
  const Handle id = open_attribute(name, {H5T_FLOAT, H5T_INTEGER}, size);
  std::vector<double> values(size);
  ensure_read(H5Aread(id.get(), H5T_NATIVE_DOUBLE, values.data()) >= 0, "attribute " + name);
  return values;
}

std::vector<std::string> File::texts_attribute(const std::string& name) const {
  std::size_t size = 0;
  const Handle id = open_attribute(name, {H5T_STRING}, size);
  const Handle stored(H5Aget_type(id.get()), H5Tclose);
  const std::vector<std::string> texts = H5Tis_variable_str(stored.get()) == 0
                                             ? fixed_texts(id.get(), stored.get(), size, name)
                                             : heap_texts(name, size);
  ensure_read(std::ranges::all_of(texts, is_utf8), "attribute " + name);
  return texts;
}

/// Texts of variable length, which are stored elsewhere in the file.
std::vector<std::string> File::heap_texts(const std::string& name, std::size_t count) const {
  const auto [object, short_name] = object_and_name(name);
  const auto header = header_of(object);
  const auto texts = header ? read_texts(places(), *header, short_name, count) : std::nullopt;
  ensure_read(texts.has_value(), "attribute " + name);
  return *texts;
}

/// Texts of fixed length, stored in the attribute itself and padded with zeros or blanks.
std::vector<std::string> File::fixed_texts(hid_t attribute, hid_t type, std::size_t count,
                                           const std::string& name) const {
  const std::size_t length = H5Tget_size(type);
  ensure_read(length > 0 && length <= kMostText && count <= kMostText / length, "attribute " + name);
  std::string all(count * length, '\0');
  ensure_read(H5Aread(attribute, type, all.data()) >= 0, "attribute " + name);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string text = all.substr(i * length, length);
    texts.emplace_back(trimmed(text.substr(0, text.find('\0'))));
  }
  return texts;
}

std::string File::text_attribute(const std::string& name) const { return texts_attribute(name).front(); }
double File::number_attribute(const std::string& name) const { return numbers_attribute(name).front(); }

std::vector<std::uint64_t> File::integers_attribute(const std::string& name) const {
  std::size_t size = 0;
  const Handle id = open_attribute(name, {H5T_FLOAT, H5T_INTEGER}, size);
  const Handle type(H5Aget_type(id.get()), H5Tclose);
  const bool is_float = H5Tget_class(type.get()) == H5T_FLOAT;
  if (is_float || H5Tget_sign(type.get()) != H5T_SGN_NONE) {
    constexpr double kMost = 9007199254740992;  // whole numbers above it are not all in a double
    for (const double value : numbers_attribute(name))
      ensure(value >= 0 && value == std::floor(value) && (!is_float || value <= kMost), Fault::format,
             "{} has {} in its attribute {}, where a whole number from 0 on is needed: correct it.", path_,
             value, name);
  }
  std::vector<std::uint64_t> values(size);
  ensure_read(H5Aread(id.get(), H5T_NATIVE_UINT64, values.data()) >= 0, "attribute " + name);
  return values;
}

std::uint64_t File::integer_attribute(const std::string& name) const {
  const std::vector<std::uint64_t> values = integers_attribute(name);
  ensure(values.size() == 1, Fault::format, "{} has an attribute {} of {} values: write one.", path_, name,
         values.size());
  return values.front();
}

}  // namespace cosmo::core::hdf5
