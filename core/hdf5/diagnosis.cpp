#include "core/hdf5/diagnosis.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <set>
#include <vector>

#include "core/error.hpp"
#include "core/file/file_kind.hpp"
#include "core/hdf5/hdf5.hpp"

namespace cosmo::core::hdf5 {

namespace {

/// What the superblock states. Source: HDF5 File Format Specification 3.0, section II.A.
struct Superblock {
  int version = 0;
  bool open_for_writing = false;
  std::uint64_t end = 0;  ///< bytes that the file should have; 0 if unknown
};

Superblock superblock_of(const std::filesystem::path& path) {
  constexpr std::size_t kVersion = 8, kFlags = 11;
  std::array<char, 64> bytes{};
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), bytes.size());
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
  Superblock found;
  if (file.gcount() < static_cast<std::streamsize>(bytes.size())) return found;
  found.version = byte(kVersion);
  if (found.version > 3) return found;
  const bool old = found.version < 2;
  const std::size_t address_bytes = byte(old ? 13 : 9), end = old ? (found.version == 0 ? 40 : 44) : 28;
  found.open_for_writing = found.version == 3 && (byte(kFlags) & 5) != 0;
  if (address_bytes == sizeof found.end) std::memcpy(&found.end, &bytes[end], sizeof found.end);
  return found;
}

struct Filter {
  H5Z_filter_t id;
  const char* name;
};
/// Registered filters that public files use.
constexpr std::array<Filter, 12> kFilters = {{{H5Z_FILTER_SZIP, "szip"},
                                              {305, "LZO"},
                                              {307, "bzip2"},
                                              {32000, "LZF"},
                                              {32001, "Blosc"},
                                              {32004, "LZ4"},
                                              {32008, "bitshuffle"},
                                              {32013, "ZFP"},
                                              {32015, "Zstandard"},
                                              {32017, "SZ"},
                                              {32023, "bit grooming"},
                                              {32026, "Blosc2"}}};

herr_t add_name(hid_t, const char* name, const H5L_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->push_back(std::string("/") + name);
  return 0;
}

std::set<std::string> other_files(hid_t creation) {
  constexpr std::size_t kMost = 1000;
  std::set<std::string> names;
  std::array<char, 1024> name{};
  std::size_t virtual_parts = 0;
  if (H5Pget_layout(creation) == H5D_VIRTUAL && H5Pget_virtual_count(creation, &virtual_parts) >= 0) {
    for (std::size_t i = 0; i < std::min(virtual_parts, kMost); ++i) {
      if (H5Pget_virtual_filename(creation, i, name.data(), name.size() - 1) > 0) names.insert(name.data());
    }
  }
  const int parts = H5Pget_external_count(creation);
  for (int i = 0; i < parts; ++i) {
    off_t offset = 0;
    hsize_t size = 0;
    if (H5Pget_external(creation, static_cast<unsigned>(i), name.size() - 1, name.data(), &offset, &size) >=
        0)
      names.insert(name.data());
  }
  return names;
}

/// The first of some names.
std::string listed(std::vector<std::string> names) {
  constexpr std::size_t kMost = 8;
  const bool more = names.size() > kMost;
  if (more) names.resize(kMost);
  return fmt::format("{}{}", fmt::join(names, ", "), more ? ", …" : "");
}

}  // namespace

hid_t access_properties() {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_file_locking(access, false, true);
  return access;
}

std::string why_not_opened(const std::filesystem::path& path) {
  const Superblock superblock = superblock_of(path);
  const std::uintmax_t size = std::filesystem::file_size(path);
  if (superblock.version > 3) {
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    return fmt::format(
        "has a superblock of version {}, which HDF5 {}.{}.{} does not read: copy its contents into a file for older "
        "versions (h5repack --high=v110).",
        superblock.version, major, minor, release);
  }
  if (superblock.open_for_writing)
    return "is open in another program that writes it, or one ended before it had closed it: close it there, or clear "
           "its mark (h5clear --status).";
  if (superblock.end > size)
    return fmt::format("is truncated, with {} of its {} bytes: copy it again.", size, superblock.end);
  return "is not a readable HDF5 file: its metadata are damaged, restore it.";
}

std::string members_of(hid_t group) {
  std::vector<std::string> names;
  H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, &add_name, &names);
  return names.empty() ? "nothing" : listed(names);
}

void ensure_decodable(hid_t creation, const std::string& where) {
  const int filters = H5Pget_nfilters(creation);
  for (int f = 0; f < filters; ++f) {
    std::array<char, 64> name{};
    unsigned flags = 0, config = 0;
    std::size_t values = 0;
    const H5Z_filter_t id = H5Pget_filter2(creation, static_cast<unsigned>(f), &flags, &values, nullptr,
                                           name.size() - 1, name.data(), &config);
    if (id < 0 || H5Zfilter_avail(id) > 0) continue;
    const auto known = std::ranges::find(kFilters, id, &Filter::id);
    fail(Fault::format,
         "{} is packed by the filter {} (number {}), which HDF5 lacks here: install its plugin and set "
         "HDF5_PLUGIN_PATH, or unpack the file where the plugin is (h5repack -f NONE).",
         where,
         known != kFilters.end() ? known->name
         : name.front() != '\0'  ? name.data()
                                 : "of no name",
         static_cast<int>(id));
  }
}

void ensure_stored_here(hid_t creation, const std::string& where) {
  const H5D_layout_t layout = H5Pget_layout(creation);
  const bool here = (layout == H5D_COMPACT || layout == H5D_CONTIGUOUS || layout == H5D_CHUNKED) &&
                    H5Pget_external_count(creation) == 0;
  if (here) return;
  const std::set<std::string> names = other_files(creation);
  fail(Fault::format, "{} is stored in other files ({}): give those, or copy them into one.", where,
       listed({names.begin(), names.end()}));
}

}  // namespace cosmo::core::hdf5
