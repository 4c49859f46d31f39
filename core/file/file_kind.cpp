#include "core/file/file_kind.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <string_view>

namespace cosmo::core {

namespace {

using namespace std::string_view_literals;

struct Kind {
  std::string_view begins;
  const char* what;
};

constexpr std::array<Kind, 18> kKinds = {
    {{"\x89HDF\r\n\x1a\n"sv, "an HDF5 file"},
     {"\x1f\x8b"sv, "compressed by gzip: unpack it first (gunzip)"},
     {"BZh"sv, "compressed by bzip2: unpack it first (bunzip2)"},
     {"\xfd"
      "7zXZ"sv,
      "compressed by xz: unpack it first (unxz)"},
     {"\x28\xb5\x2f\xfd"sv, "compressed by zstd: unpack it first (unzstd)"},
     {"PK\x03\x04"sv, "a ZIP archive: unpack it first (unzip)"},
     {"version https://git-lfs"sv, "a pointer of Git LFS, not the file itself: fetch it (git lfs pull)"},
     {"<!DOCTYPE"sv, "a web page, not the file itself: download it again"},
     {"<!doctype"sv, "a web page, not the file itself: download it again"},
     {"<html"sv, "a web page, not the file itself: download it again"},
     {"<?xml"sv, "an XML document: download the file itself"},
     {"\x93NUMPY"sv, "an array of numpy: cosmo-prep import --format npy reads those"},
     {"SIMPLE  ="sv, "a FITS file: convert it"},
     {"PAR1"sv, "a Parquet table: convert it"},
     {"#ASDF"sv, "an ASDF file: convert it to HDF5"},
     {"CDF\x01"sv, "a netCDF-3 file: convert it to HDF5 (nccopy -k nc4)"},
     {"CDF\x02"sv, "a netCDF-3 file: convert it to HDF5 (nccopy -k nc4)"},
     {"\x0e\x03\x13\x01"sv, "an HDF4 file: convert it to HDF5 (h4toh5)"}}};

}  // namespace

std::string kind_of_file(const std::filesystem::path& path) {
  std::array<char, 264> bytes{};
  std::ifstream file(path, std::ios::binary);
  if (!file) return "";
  file.read(bytes.data(), bytes.size());
  const std::string_view text(bytes.data(), static_cast<std::size_t>(file.gcount()));
  if (text.empty()) return "empty: copy it again";
  const auto known =
      std::ranges::find_if(kKinds, [&](const Kind& kind) { return text.starts_with(kind.begins); });
  if (known != kKinds.end()) return known->what;
  if (text.size() > 262 && text.substr(257, 5) == "ustar") return "a tar archive: unpack it first (tar -xf)";
  if (std::ranges::all_of(text, [](char c) { return c == '\0'; }))
    return "zeros only, as copies are that were cut off: copy it again";
  const bool readable = std::ranges::all_of(
      text, [](unsigned char c) { return std::isprint(c) || c == '\n' || c == '\r' || c == '\t'; });
  return readable ? std::string(kText) : "";
}

}  // namespace cosmo::core
