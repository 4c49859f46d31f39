#include "core/format/npy.hpp"

#include <charconv>
#include <cstdint>
#include <utility>

#include "core/error.hpp"
#include "core/file/text_file.hpp"

namespace cosmo::core {

namespace {

constexpr std::size_t kVersionBytes = 2;  // bytes after the magic
constexpr std::size_t kHeaderAlignment = 64;

/// The Python source between `begin` and `end` after the header's key.
std::string_view value_of(std::string_view header, std::string_view key, std::string_view begin,
                          std::string_view end, const std::string& source) {
  const std::size_t at = header.find(fmt::format("'{}':", key));
  const std::size_t first = at == std::string_view::npos ? at : header.find(begin, at + key.size() + 3);
  const std::size_t last = first == std::string_view::npos ? first : header.find(end, first + begin.size());
  ensure(last != std::string_view::npos, Fault::format,
         "{} has no '{}' in its header: save it by numpy.save.", source, key);
  return header.substr(first + begin.size(), last - first - begin.size());
}

std::vector<int> parse_shape(std::string_view text, const std::string& source) {
  std::vector<int> shape;
  for (const std::string_view cell : cells_of(text, ',')) {
    if (cell.empty()) continue;  // after the last comma
    int length = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), length);
    ensure(error == std::errc() && end == cell.data() + cell.size() && length > 0, Fault::format,
           "{} has the shape ({}): save a full array.", source, text);
    shape.push_back(length);
  }
  return shape;
}

}  // namespace

std::string npy_header(std::string_view type, const std::vector<int>& shape) {
  const std::size_t start = kNpyMagic.size() + kVersionBytes + sizeof(std::uint16_t);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", type,
                                   fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  header.resize((start + header.size() + kHeaderAlignment) / kHeaderAlignment * kHeaderAlignment - start,
                ' ');
  header.back() = '\n';
  std::string text(kNpyMagic);
  text += {'\x01', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return text + header;
}

std::vector<std::byte> encode_npy(std::string_view type, const std::vector<int>& shape,
                                  std::span<const std::byte> elements) {
  const std::string header = npy_header(type, shape);
  std::vector<std::byte> file;
  file.reserve(header.size() + elements.size());
  const auto bytes = std::as_bytes(std::span(header));
  file.assign(bytes.begin(), bytes.end());
  file.insert(file.end(), elements.begin(), elements.end());
  return file;
}

NpyLayout read_npy_layout(std::span<const std::byte> beginning, std::uint64_t size,
                          const std::string& source) {
  const std::string_view text(reinterpret_cast<const char*>(beginning.data()), beginning.size());
  const std::size_t length_at = kNpyMagic.size() + kVersionBytes;
  const auto byte = [&](std::size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u;
  };
  const unsigned version = byte(kNpyMagic.size());
  ensure(text.starts_with(kNpyMagic) && version >= 1 && version <= 3, Fault::format,
         "{} is not an .npy file: save it by numpy.save.", source);
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  std::size_t length = 0;
  for (std::size_t b = 0; b < length_bytes; ++b) length |= std::size_t{byte(length_at + b)} << (8 * b);
  const std::size_t start = length_at + length_bytes;
  ensure(start <= text.size() && length <= text.size() - start, Fault::format, "{} is cut short: restore it.",
         source);
  const std::string_view header = text.substr(start, length);
  NpyLayout array{std::string(value_of(header, "descr", "'", "'", source)),
                  parse_shape(value_of(header, "shape", "(", ")", source), source), start + length};
  ensure(value_of(header, "fortran_order", " ", ",", source) == "False", Fault::format,
         "{} is in Fortran's order: save numpy.ascontiguousarray of it.", source);
  const char width = array.type.size() == 3 ? array.type.back() : '0';
  ensure(width == '1' || width == '2' || width == '4' || width == '8', Fault::format,
         "{} has elements of type '{}': save numbers of 1 to 8 bytes.", source, array.type);
  std::uint64_t elements = static_cast<std::uint64_t>(width - '0');
  for (const int n : array.shape) {
    ensure(elements <= size, Fault::format, "{} is cut short: restore it.", source);
    elements *= static_cast<std::uint64_t>(n);
  }
  ensure(elements == size - array.start, Fault::format,
         "{} has {} bytes of elements and its shape needs {}: it is cut short or altered, restore it.",
         source, size - array.start, elements);
  return array;
}

NpyArray decode_npy(std::span<const std::byte> file, const std::string& source) {
  NpyLayout layout = read_npy_layout(file, file.size(), source);
  return {std::move(layout.type), std::move(layout.shape), file.subspan(layout.start)};
}

}  // namespace cosmo::core
