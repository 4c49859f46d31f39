#include "core/file/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <string>

#include "core/error.hpp"
#include "core/file/input_file.hpp"

namespace cosmo::core {

namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib: the largest window, with gzip's header and trailer
constexpr std::size_t kMostAtOnce = std::numeric_limits<uInt>::max();

/// A zlib stream that closes itself.
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

struct GzipFile::Inflation {
  explicit Inflation(const std::filesystem::path& path) : source(path.string()), file(open_input(path)) {
    ensure(inflateInit2(&stream.state, kGzipWindow) == Z_OK, Fault::internal, "zlib cannot inflate {}.",
           source);
  }

  /// Whether there is anything to inflate; reads more if necessary.
  bool has_input() {
    if (stream.state.avail_in > 0) return true;
    file.read(reinterpret_cast<char*>(block.data()), static_cast<std::streamsize>(block.size()));
    ensure(!file.bad(), Fault::io, "{} cannot be read to its end: check the disk.", source);
    stream.state.next_in = block.data();
    stream.state.avail_in = static_cast<uInt>(file.gcount());
    return stream.state.avail_in > 0;
  }

  std::string source;
  std::ifstream file;
  std::array<Bytef, 1 << 16> block;
  Stream stream{&inflateEnd};
  bool between_members = false;
};

GzipFile::GzipFile(const std::filesystem::path& path) : inflation_(std::make_unique<Inflation>(path)) {}
GzipFile::~GzipFile() = default;

std::size_t GzipFile::read(std::span<std::byte> bytes) {
  z_stream& state = inflation_->stream.state;
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const bool more = inflation_->has_input();
    if (!more && inflation_->between_members) break;
    const std::size_t room = std::min(bytes.size() - filled, kMostAtOnce);
    state.next_out = writable(bytes.data() + filled);
    state.avail_out = static_cast<uInt>(room);
    const int outcome = more ? inflate(&state, Z_NO_FLUSH) : Z_BUF_ERROR;
    filled += room - state.avail_out;
    inflation_->between_members = outcome == Z_STREAM_END && inflateReset(&state) == Z_OK;
    ensure(outcome == Z_OK || inflation_->between_members, Fault::format,
           "{} is damaged or cut short, gzip cannot read it: restore it.", inflation_->source);
  }
  return filled;
}

}  // namespace cosmo::core
