#include "core/hdf5/text.hpp"

#include <algorithm>
#include <cstring>

#include "core/hdf5/header.hpp"

namespace cosmo::core::hdf5 {

namespace {

/// The attribute's value: for each text its length, the address of its heap and its index there.
std::vector<char> find_value(Places& places, std::uint64_t header, const std::string& name) {
  for (const Message& message : messages_at(places, header)) {
    if (message.kind != MessageKind::attribute) continue;
    demand(!message.elsewhere);
    const AttributeMessage attribute = attribute_in(message.bytes);
    if (attribute.name.substr(0, attribute.name.find('\0')) == name)
      return {attribute.value.begin(), attribute.value.end()};
  }
  throw Damage{};
}

/// Reads an object of the heap at `at`.
std::string read_object(Places& places, std::uint64_t at, std::uint32_t index) {
  constexpr std::uint64_t kHeader = 16;
  const std::vector<char> prefix = places.read(at, kHeader);
  Cursor head(prefix);
  demand(std::memcmp(head.piece(4).data(), "GCOL", 4) == 0 && head.number<std::uint32_t>() == 1);
  const auto size = head.number<std::uint64_t>();
  demand(size >= kHeader);
  const std::vector<char> heap = places.read(at, size);
  Cursor cursor(Bytes(heap).subspan(kHeader));
  while (cursor.left() >= kHeader) {
    const auto own = cursor.number<std::uint16_t>();
    cursor.skip(6);  // reference count and zeros
    const auto length = cursor.number<std::uint64_t>();
    if (own == 0) break;  // the rest is free
    const Bytes object = cursor.piece(length);
    if (own == index) return {object.begin(), object.end()};
    cursor.skip(std::min<std::uint64_t>(padded(length) - length, cursor.left()));
  }
  throw Damage{};
}

std::vector<std::string> read_checked(Places& places, std::uint64_t header, const std::string& name,
                                      std::size_t count) {
  const std::vector<char> value = find_value(places, header, name);
  Cursor cursor(value);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) {
    const auto length = cursor.number<std::uint32_t>();
    const auto at = cursor.number<std::uint64_t>();
    const auto index = cursor.number<std::uint32_t>();
    std::string text = length == 0 ? "" : read_object(places, at, index);
    demand(length <= text.size());
    text.resize(length);
    texts.push_back(text.substr(0, text.find('\0')));
  }
  return texts;
}

}  // namespace

std::optional<std::vector<std::string>> read_texts(Places& places, std::uint64_t header,
                                                   const std::string& name, std::size_t count) {
  try {
    return read_checked(places, header, name, count);
  } catch (const Damage&) {
    return std::nullopt;
  }
}

}  // namespace cosmo::core::hdf5
