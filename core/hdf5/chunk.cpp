#include "core/hdf5/chunk.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <functional>
#include <new>
#include <numeric>

#include "core/error.hpp"
#include "core/file/checksum.hpp"
#include "core/hdf5/hdf5.hpp"

namespace cosmo::core::hdf5 {

namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

/// A file open for reading.
class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& path)
      : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    ensure(file_ >= 0, Fault::io, "{} cannot be opened ({}): check that it exists and is readable.",
           path_.string(), std::strerror(errno));
  }
  ~OpenFile() { ::close(file_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  void read(std::uint64_t address, std::span<std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t got = ::pread(file_, bytes.data(), bytes.size(), static_cast<off_t>(address));
      if (got < 0 && errno == EINTR) continue;
      ensure(got >= 0, Fault::io, "{} cannot be read ({}): check the disk.", path_.string(),
             std::strerror(errno));
      ensure(got > 0, Fault::format, "{} ends before the part that is needed: restore the file.",
             path_.string());
      address += static_cast<std::uint64_t>(got);
      bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
  }

 private:
  const std::filesystem::path& path_;
  int file_;
};

constexpr std::size_t kBlock = 256 << 10;  ///< bytes of a file that fit a core's cache

/// Reads bytes as stored and returns their CRC-32, computed block by block while each is in cache.
std::uint32_t read_plain(const OpenFile& file, std::uint64_t address, std::span<std::byte> bytes) {
  std::uint32_t crc = 0;
  for (std::size_t at = 0; at < bytes.size(); at += kBlock) {
    const std::span block = bytes.subspan(at, std::min(kBlock, bytes.size() - at));
    file.read(address + at, block);
    crc = crc32(block, crc);
  }
  return crc;
}

/// Reassembles `size`-byte elements from planes; plane k holds byte k of every element.
void unshuffle(std::span<const std::byte> planes, std::size_t size, std::span<std::byte> elements) {
  const std::size_t count = elements.size() / size;
  for (std::size_t k = 0; k < size; ++k) {
    for (std::size_t i = 0; i < count; ++i) elements[i * size + k] = planes[k * count + i];
  }
}

/// Records in `chunk` which filters the dataset's pipeline applied to it; false if there are others than
/// shuffle and deflate, at most once each and in this order. Bit f of `skipped`: filter f was skipped for
/// this chunk.
bool describe_filters(hid_t creation, unsigned int skipped, std::size_t element_bytes, Chunk& chunk) {
  const int filters = H5Pget_nfilters(creation);
  for (int f = 0; f < filters; ++f) {
    std::array<unsigned int, 8> parameters{};
    std::size_t count = parameters.size();
    unsigned int flags = 0, config = 0;
    const H5Z_filter_t id = H5Pget_filter2(creation, static_cast<unsigned int>(f), &flags, &count,
                                           parameters.data(), 0, nullptr, &config);
    if ((skipped >> f & 1) != 0) continue;
    if (id == H5Z_FILTER_SHUFFLE && !chunk.deflated && chunk.shuffled == 1 &&
        parameters[0] == element_bytes) {
      chunk.shuffled = element_bytes;
    } else if (id == H5Z_FILTER_DEFLATE && !chunk.deflated) {
      chunk.deflated = true;
    } else {
      return false;
    }
  }
  return filters >= 0;
}

/// Whether addresses in the file are relative to its first byte.
bool begins_at_zero(hid_t object) {
  const Handle file(H5Iget_file_id(object), H5Fclose);
  const Handle creation(H5Fget_create_plist(file.get()), H5Pclose);
  hsize_t user_block = 0;
  return H5Pget_userblock(creation.get(), &user_block) >= 0 && user_block == 0;
}

}  // namespace

std::optional<Chunk> Dataset::chunk(const Shape& start, const Shape& count) const {
  const Handle creation(H5Dget_create_plist(id_.get()), H5Pclose);
  const Handle type(H5Dget_type(id_.get()), H5Tclose);
  Shape stored(count.size());
  if (H5Pget_layout(creation.get()) != H5D_CHUNKED ||
      H5Pget_chunk(creation.get(), static_cast<int>(stored.size()), stored.data()) !=
          static_cast<int>(stored.size()) ||
      stored != count || !begins_at_zero(id_.get())) {
    return std::nullopt;
  }
  unsigned int skipped = 0;
  haddr_t address = HADDR_UNDEF;
  hsize_t bytes = 0;
  if (H5Dget_chunk_info_by_coord(id_.get(), start.data(), &skipped, &address, &bytes) < 0 ||
      address == HADDR_UNDEF) {
    return std::nullopt;
  }
  const std::size_t element_bytes = H5Tget_size(type.get());
  const std::uint64_t plain_bytes =
      std::accumulate(count.begin(), count.end(), std::uint64_t{element_bytes}, std::multiplies<>());
  Chunk chunk{address, bytes};
  const bool known = describe_filters(creation.get(), skipped, element_bytes, chunk);
  const bool plausible = chunk.deflated ? bytes <= 2 * plain_bytes : bytes == plain_bytes;
  return known && plausible ? std::optional(chunk) : std::nullopt;
}

/// zlib's state, which must not move.
struct ChunkReader::Inflater {
  Inflater() {
    if (::inflateInit(&stream) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { ::inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Inflates `packed` into `bytes`; returns whether it fills them exactly.
  bool inflate(std::span<std::byte> packed, std::span<std::byte> bytes) {
    ::inflateReset(&stream);
    stream.next_in = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_in = static_cast<uInt>(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
    stream.avail_out = static_cast<uInt>(bytes.size());
    return ::inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_out == 0;
  }

  z_stream stream{};
};

ChunkReader::ChunkReader() : inflater_(std::make_unique<Inflater>()) {}
ChunkReader::ChunkReader(ChunkReader&&) noexcept = default;
ChunkReader::~ChunkReader() = default;

std::uint32_t ChunkReader::read(const std::filesystem::path& path, const Chunk& chunk,
                                std::span<std::byte> elements) {
  const OpenFile file(path);
  if (chunk.is_plain()) return read_plain(file, chunk.address, elements);
  std::span<std::byte> planes = elements;
  if (chunk.shuffled > 1) {
    planes_.resize(elements.size());
    planes = planes_;
  }
  if (chunk.deflated) {
    packed_.resize(chunk.bytes);
    file.read(chunk.address, packed_);
    ensure(inflater_->inflate(packed_, planes), Fault::format,
           "{} cannot be inflated: the file is damaged, restore it.", path.string());
  } else {
    file.read(chunk.address, planes);
  }
  if (chunk.shuffled > 1) unshuffle(planes, chunk.shuffled, elements);
  return crc32(elements);
}

std::uint32_t ChunkReader::read(const std::filesystem::path& path, const Chunk& chunk, std::size_t bytes,
                                const Visit& visit) {
  const bool plain = chunk.is_plain();
  elements_.resize(plain ? std::min(bytes, kBlock) : bytes);
  if (!plain) {
    const std::uint32_t crc = read(path, chunk, elements_);
    visit(elements_);
    return crc;
  }
  const OpenFile file(path);
  std::uint32_t crc = 0;
  for (std::size_t at = 0; at < bytes; at += kBlock) {
    const std::span block = std::span(elements_).first(std::min(kBlock, bytes - at));
    file.read(chunk.address + at, block);
    crc = crc32(block, crc);
    visit(block);
  }
  return crc;
}

void ChunkReader::read_parts(const std::filesystem::path& path, const Chunk& chunk,
                             std::span<const int> numbers, std::span<std::byte> parts,
                             const std::function<void(int number, std::uint32_t crc)>& check) const {
  const OpenFile file(path);
  const std::size_t size = numbers.empty() ? 0 : parts.size() / numbers.size();
  for (const int number : numbers) {
    check(number,
          read_plain(file, chunk.address + size * static_cast<std::size_t>(number), parts.first(size)));
    parts = parts.subspan(size);
  }
}

}  // namespace cosmo::core::hdf5
