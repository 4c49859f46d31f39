#include "core/format/protobuf.hpp"

#include <bit>

namespace cosmo::core {

namespace {

void append_varint(std::string& text, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) text += static_cast<char>((number & 0x7f) | 0x80);
  text += static_cast<char>(number);
}

void append_tag(std::string& text, int field, ProtobufWire wire) {
  append_varint(text, static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire));
}

}  // namespace

std::string protobuf_header(int field, std::size_t length) {
  std::string header;
  append_tag(header, field, ProtobufWire::delimited);
  append_varint(header, length);
  return header;
}

ProtobufMessage& ProtobufMessage::add(int field, std::int64_t number) {
  append_tag(bytes_, field, ProtobufWire::varint);
  append_varint(bytes_, static_cast<std::uint64_t>(number));  // negative ones as two's complement
  return *this;
}

ProtobufMessage& ProtobufMessage::add(int field, float number) {
  append_tag(bytes_, field, ProtobufWire::fixed32);
  for (auto bits = std::bit_cast<std::uint32_t>(number), b = 0u; b < 4; ++b, bits >>= 8)
    bytes_ += static_cast<char>(bits & 0xff);
  return *this;
}

ProtobufMessage& ProtobufMessage::add(int field, std::string_view text) {
  bytes_ += protobuf_header(field, text.size());
  bytes_ += text;
  return *this;
}

}  // namespace cosmo::core
