#include "core/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "core/error.hpp"

namespace cosmo::core {

namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib: the largest window, with gzip's header and trailer
constexpr std::size_t kMostAtOnce = std::numeric_limits<uInt>::max();

/// A zlib stream that ends itself.
struct Stream {
  explicit Stream(int (*close)(z_streamp)) : end(close) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { end(&state); }

  z_stream state{};
  int (*end)(z_streamp);
};

Bytef* writable(std::byte* bytes) { return reinterpret_cast<Bytef*>(bytes); }
Bytef* readable(const std::byte* bytes) { return writable(const_cast<std::byte*>(bytes)); }

}  // namespace

bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() > 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b} &&
         bytes[2] == std::byte{8};
}

std::vector<std::byte> gzip(std::span<const std::byte> bytes) {
  Stream stream(&deflateEnd);
  constexpr int kUsualMemory = 8;
  const bool begun = deflateInit2(&stream.state, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kUsualMemory,
                                  Z_DEFAULT_STRATEGY) == Z_OK;
  ensure(begun && bytes.size() <= kMostAtOnce / 2, Fault::internal, "zlib cannot deflate {} bytes.",
         bytes.size());
  std::vector<std::byte> file(deflateBound(&stream.state, static_cast<uLong>(bytes.size())));
  stream.state.next_in = readable(bytes.data());
  stream.state.avail_in = static_cast<uInt>(bytes.size());
  stream.state.next_out = writable(file.data());
  stream.state.avail_out = static_cast<uInt>(file.size());
  ensure(deflate(&stream.state, Z_FINISH) == Z_STREAM_END, Fault::internal, "zlib cannot deflate {} bytes.",
         bytes.size());
  file.resize(file.size() - stream.state.avail_out);
  return file;
}

std::vector<std::byte> gunzip(std::span<const std::byte> file, std::size_t most, const std::string& source) {
  Stream stream(&inflateEnd);
  ensure(inflateInit2(&stream.state, kGzipWindow) == Z_OK && file.size() <= kMostAtOnce, Fault::internal,
         "zlib cannot inflate {}.", source);
  stream.state.next_in = readable(file.data());
  stream.state.avail_in = static_cast<uInt>(file.size());
  std::vector<std::byte> bytes;
  std::size_t filled = 0;
  while (true) {
    constexpr std::size_t kFirst = 1 << 20;
    if (filled == bytes.size()) bytes.resize(std::max(kFirst, 2 * filled));
    const std::size_t room = std::min(bytes.size() - filled, kMostAtOnce);
    stream.state.next_out = writable(bytes.data() + filled);
    stream.state.avail_out = static_cast<uInt>(room);
    const int outcome = inflate(&stream.state, Z_NO_FLUSH);
    filled += room - stream.state.avail_out;
    ensure(filled <= most, Fault::format, "{} holds more than {} bytes: it is no file of one sample.", source,
           most);
    if (outcome == Z_STREAM_END && stream.state.avail_in == 0) break;
    const bool good = outcome == Z_OK || (outcome == Z_STREAM_END && inflateReset(&stream.state) == Z_OK);
    ensure(good, Fault::format, "{} is damaged or cut short, gzip cannot read it: restore it.", source);
  }
  bytes.resize(filled);
  return bytes;
}

}  // namespace cosmo::core
