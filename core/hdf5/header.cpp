#include "core/hdf5/header.hpp"

#include <array>
#include <bit>
#include <limits>

namespace cosmo::core::hdf5 {

namespace {

constexpr int kMostBlocks = 64;  ///< blocks per header
constexpr int kMostNested = 16;  ///< levels of types within types
constexpr std::uint8_t kElsewhere = 2;

struct Block {
  std::uint64_t at, size;
};

/// Layout of messages and blocks in one version of headers.
struct Form {
  bool numbered = false;  ///< version 2, with creation order stored in messages
  std::uint8_t version = 1;
  std::uint64_t block_start() const { return version == 1 ? 0 : 4; }  // signature
  std::uint64_t block_end() const { return version == 1 ? 0 : 4; }    // checksum
};

Block block_in(Bytes continuation) {
  Cursor place(continuation);
  const auto at = place.number<std::uint64_t>();
  return {at, place.number<std::uint64_t>()};
}

/// Reads the next message; at least its first byte must be left.
Message next_message(Cursor& cursor, const Form& form) {
  const std::uint16_t kind =
      form.version == 1 ? cursor.number<std::uint16_t>() : cursor.number<std::uint8_t>();
  const auto size = cursor.number<std::uint16_t>();
  const auto flags = cursor.number<std::uint8_t>();
  cursor.skip(form.version == 1 ? 3 : form.numbered ? 2 : 0);
  const Bytes bytes = cursor.piece(size);
  return {static_cast<MessageKind>(kind), (flags & kElsewhere) != 0, {bytes.begin(), bytes.end()}};
}

/// The first block of a header, after its prefix.
Block first_block(Places& places, std::uint64_t header, Form& form) {
  constexpr std::uint64_t kPrefix = 16;  // of version 1
  const std::vector<char> prefix = places.read(header, kPrefix);
  Cursor head(prefix);
  if (Cursor(prefix).number<std::uint32_t>() !=
      std::bit_cast<std::uint32_t>(std::array{'O', 'H', 'D', 'R'})) {
    demand(head.number<std::uint16_t>() == 1);  // version and a zero
    head.skip(6);                               // number of messages, and reference count
    return {header + kPrefix, head.number<std::uint32_t>()};
  }
  head.skip(4);
  form.version = head.number<std::uint8_t>();
  demand(form.version == 2);
  const auto flags = head.number<std::uint8_t>();
  form.numbered = (flags & 0x04) != 0;
  const std::uint64_t width = std::uint64_t{1} << (flags & 0x03);
  const std::uint64_t at =
      header + 6 + ((flags & 0x20) != 0 ? 16 : 0) + ((flags & 0x10) != 0 ? 4 : 0);  // times, phases
  std::uint64_t size = 0;
  std::memcpy(&size, places.read(at, width).data(), width);
  return {at + width, size};
}

std::uint64_t type_size(Cursor& cursor, int nested = 0);

/// Skips the members of a compound type of `size` bytes.
void skip_members(Cursor& cursor, int version, std::uint16_t members, std::uint64_t size, int nested) {
  for (int i = 0; i < members; ++i) {
    const std::uint64_t name = cursor.text().size();
    if (version < 3) cursor.skip(padded(name) - name);
    cursor.skip(version < 3 ? 4 : static_cast<std::uint64_t>(std::bit_width(size) + 7) / 8);  // its offset
    if (version == 1) cursor.skip(28);                                                        // its shape
    (void)type_size(cursor, nested);
  }
}

void skip_enumerators(Cursor& cursor, int version, std::uint16_t members, int nested) {
  const std::uint64_t size = type_size(cursor, nested);
  for (int i = 0; i < members; ++i) {
    const std::uint64_t name = cursor.text().size();
    if (version < 3) cursor.skip(padded(name) - name);
  }
  cursor.skip(members * size);
}

void skip_array(Cursor& cursor, int version, int nested) {
  const auto rank = cursor.number<std::uint8_t>();
  if (version < 3) cursor.skip(3);
  cursor.skip(std::uint64_t{rank} * (version < 3 ? 8 : 4));
  (void)type_size(cursor, nested);
}

/// Skips a datatype and returns the size of a value.
std::uint64_t type_size(Cursor& cursor, int nested) {
  enum Class { integer, real, time, text, bits, opaque, compound, reference, enumeration, variable, array };
  demand(nested < kMostNested);
  const auto first = cursor.number<std::uint32_t>();
  const int kind = first & 0x0F, version = (first >> 4) & 0x0F;
  const auto members = static_cast<std::uint16_t>(first >> 8);
  const auto size = cursor.number<std::uint32_t>();
  demand(version >= 1 && version <= 4 && size > 0);  // 4: as 3, with another kind of reference
  switch (kind) {
    case integer:
    case bits:
      cursor.skip(4);
      break;
    case real:
      cursor.skip(12);
      break;
    case time:
      cursor.skip(2);
      break;
    case text:
    case reference:
      break;
    case opaque:
      cursor.skip(members & 0xFF);
      break;
    case compound:
      skip_members(cursor, version, members, size, nested + 1);
      break;
    case enumeration:
      skip_enumerators(cursor, version, members, nested + 1);
      break;
    case variable:
      (void)type_size(cursor, nested + 1);
      break;
    case array:
      skip_array(cursor, version, nested + 1);
      break;
    default:
      throw Damage{};
  }
  return size;
}

/// The number of elements of a dataspace.
std::uint64_t elements_of(Bytes space) {
  constexpr std::uint8_t kNone = 2;  // version 2: an empty dataspace
  Cursor cursor(space);
  const auto version = cursor.number<std::uint8_t>();
  const auto rank = cursor.number<std::uint8_t>(), flags = cursor.number<std::uint8_t>(),
             kind = cursor.number<std::uint8_t>();
  demand((version == 1 || version == 2) && rank <= 32);
  if (version == 1) cursor.skip(4);
  if (version == 2 && kind == kNone) return 0;
  std::uint64_t elements = 1;
  for (int axis = 0; axis < rank; ++axis) {
    const auto length = cursor.number<std::uint64_t>();
    demand(length == 0 || elements <= std::numeric_limits<std::uint64_t>::max() / length);
    elements *= length;
  }
  if ((flags & 1) != 0) cursor.skip(std::uint64_t{8} * rank);  // largest lengths
  return elements;
}

void check(const AttributeMessage& attribute) {
  demand(!attribute.name.empty() && attribute.name.find('\0') == attribute.name.size() - 1);
  demand(attribute.own_type && attribute.own_space);
  Cursor type(attribute.type);
  const std::uint64_t size = type_size(type), elements = elements_of(attribute.space);
  demand(elements == 0 || size <= attribute.value.size() / elements);
}

void check(const Message& message) {
  if (message.elsewhere) return;
  Cursor cursor(message.bytes);
  if (message.kind == MessageKind::datatype) (void)type_size(cursor);
  if (message.kind == MessageKind::dataspace) (void)elements_of(message.bytes);
  if (message.kind == MessageKind::attribute) check(attribute_in(message.bytes));
}

}  // namespace

std::vector<Message> messages_at(Places& places, std::uint64_t header) {
  Form form;
  std::vector<Message> messages;
  std::vector<Block> blocks = {first_block(places, header, form)};
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    std::vector<char> bytes = places.read(blocks[b].at, blocks[b].size);
    const std::uint64_t start = b == 0 ? 0 : form.block_start(), end = b == 0 ? 0 : form.block_end();
    demand(start + end <= bytes.size());
    Cursor cursor(Bytes(bytes).subspan(start, bytes.size() - start - end));
    const std::uint64_t smallest = form.version == 1 ? 8 : form.numbered ? 6 : 4;  // fewer bytes are a gap
    while (cursor.left() >= smallest) {
      messages.push_back(next_message(cursor, form));
      if (messages.back().kind != MessageKind::continuation) continue;
      blocks.push_back(block_in(messages.back().bytes));
      demand(blocks.size() <= kMostBlocks);
    }
  }
  return messages;
}

AttributeMessage attribute_in(Bytes message) {
  Cursor cursor(message);
  const auto version = cursor.number<std::uint8_t>(), flags = cursor.number<std::uint8_t>();
  std::array<std::uint64_t, 3> sizes{};  // those of name, type and shape
  for (std::uint64_t& size : sizes) size = cursor.number<std::uint16_t>();
  demand(version >= 1 && version <= 3);
  if (version == 3) cursor.skip(1);  // the name's encoding
  std::array<Bytes, 3> parts;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    parts[i] = cursor.piece(version == 1 ? padded(sizes[i]) : sizes[i]).first(sizes[i]);
  const bool shared = version > 1;  // only then do flags mark parts stored elsewhere
  return {{parts[0].data(), parts[0].size()},
          !shared || (flags & 1) == 0,
          !shared || (flags & 2) == 0,
          parts[1],
          parts[2],
          cursor.piece(cursor.left())};
}

bool is_sound(Places& places, std::uint64_t header) {
  try {
    for (const Message& message : messages_at(places, header)) check(message);
  } catch (const Damage&) {
    return false;
  }
  return true;
}

}  // namespace cosmo::core::hdf5
