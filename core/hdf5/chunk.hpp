#pragma once
// Chunks of a dataset, read without the HDF5 library, which is not thread-safe: their addresses are looked up
// once, and any number of threads read and decode the bytes.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace cosmo::core::hdf5 {

/// The address of a stored chunk in its file, and how to decode it.
struct Chunk {
  std::uint64_t address;     ///< from the start of the file [bytes]
  std::uint64_t bytes;       ///< as stored
  std::size_t shuffled = 1;  ///< number of byte planes; 1: not shuffled
  bool deflated = false;     ///< compressed by zlib after shuffling

  /// Whether the file has its bytes as they are.
  bool is_plain() const { return !deflated && shuffled == 1; }
};

/// Reads chunks with plain reads; use one per thread. Allocates only for chunks larger than any before.
class ChunkReader {
 public:
  ChunkReader();
  ChunkReader(ChunkReader&&) noexcept;
  ~ChunkReader();

  /// Fills `elements` with all bytes of the chunk and returns their CRC-32. Throws Error{io} or Error{format}
  /// naming the file.
  std::uint32_t read(const std::filesystem::path& path, const Chunk& chunk, std::span<std::byte> elements);
  /// The same for a chunk of `bytes` decoded bytes, which are passed to `visit` part by part, in order and
  /// while they are in cache.
  using Visit = std::function<void(std::span<const std::byte> part)>;
  std::uint32_t read(const std::filesystem::path& path, const Chunk& chunk, std::size_t bytes,
                     const Visit& visit);
  /// Fills `parts` with parts of equal size of a chunk that is stored as it is, of the numbers `numbers`, and passes the
  /// CRC-32 of each to `check` with its number.
  void read_parts(const std::filesystem::path& path, const Chunk& chunk, std::span<const int> numbers,
                  std::span<std::byte> parts,
                  const std::function<void(int number, std::uint32_t crc)>& check) const;

 private:
  struct Inflater;

  std::unique_ptr<Inflater> inflater_;
  std::vector<std::byte> packed_;
  std::vector<std::byte> planes_;
  std::vector<std::byte> elements_;
};

}  // namespace cosmo::core::hdf5
