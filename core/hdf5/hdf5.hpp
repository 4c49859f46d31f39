#pragma once
// HDF5 with handles that close themselves. Objects carry no time stamps and storage is allocated at once,
// so equal content gives equal bytes, from one rank or from many.

#include <hdf5.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/hdf5/chunk.hpp"
#include "core/hdf5/places.hpp"
#include "core/parallel/communicator.hpp"

namespace cosmo::core::hdf5 {

/// An HDF5 identifier and the call that closes it; move-only.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle() = default;
  Handle(hid_t id, Close end) : id_(id), close_(end) {}
  Handle(Handle&& other) noexcept : id_(other.id_), close_(other.close_) { other.id_ = H5I_INVALID_HID; }
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Handle() { (void)close(); }
  /// Returns whether closing succeeded.
  bool close() {
    const hid_t id = std::exchange(id_, H5I_INVALID_HID);
    return id < 0 || close_(id) >= 0;
  }
  hid_t get() const { return id_; }
  /// Another handle on the same object, which stays open until both are closed.
  Handle share() const {
    H5Iinc_ref(id_);
    return {id_, close_};
  }

 private:
  hid_t id_ = H5I_INVALID_HID;
  Close close_ = nullptr;
};

using Shape = std::vector<hsize_t>;

/// The HDF5 type of T in memory; files store its little-endian form.
template <class T>
hid_t memory_type() {
  if constexpr (std::is_same_v<T, float>)
    return H5T_NATIVE_FLOAT;
  else if constexpr (std::is_same_v<T, double>)
    return H5T_NATIVE_DOUBLE;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return H5T_NATIVE_UINT8;
  else if constexpr (std::is_same_v<T, std::uint16_t>)
    return H5T_NATIVE_UINT16;
  else if constexpr (std::is_same_v<T, std::uint32_t>)
    return H5T_NATIVE_UINT32;
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return H5T_NATIVE_UINT64;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return H5T_NATIVE_INT32;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return H5T_NATIVE_INT64;
  else
    static_assert(!sizeof(T), "no HDF5 type for T");
}

/// A dataset of an open file; of one that is written must not outlive it. Errors name the file and the dataset.
class Dataset {
 public:
  Dataset(Handle id, std::string where);
  /// The same dataset once more, of a file that is read: it stays open with the last of its datasets.
  Dataset share() const { return {id_.share(), where_}; }

  const Shape& shape() const { return shape_; }
  std::size_t size() const;  ///< number of elements

  /// Throws Error{format} unless the dataset holds T in this shape.
  template <class T>
  void require(const Shape& shape) const {
    require_type(memory_type<T>(), shape);
  }
  /// Bytes per floating-point number of the dataset; 0 if it holds something else.
  std::size_t float_bytes() const;
  bool holds_numbers() const;  ///< floating-point or whole ones
  /// Reads or writes the box of `count` elements per dimension that starts at `start`; `data` is dense.
  template <class T>
  void read(const Shape& start, const Shape& count, std::span<T> data) const {
    transfer(memory_type<T>(), start, count, data.data(), data.size(), false);
  }
  template <class T>
  void write(const Shape& start, const Shape& count, std::span<const T> data) {
    transfer(memory_type<T>(), start, count, const_cast<T*>(data.data()), data.size(), true);
  }
  /// The stored chunk that is this box, for a ChunkReader; nothing if the box is not a chunk or has filters
  /// other than shuffle and deflate.
  std::optional<Chunk> chunk(const Shape& start, const Shape& count) const;

 private:
  void require_type(hid_t type, const Shape& shape) const;
  void transfer(hid_t type, const Shape& start, const Shape& count, void* data, std::size_t size,
                bool writing) const;

  Handle id_;
  std::string where_;
  Shape shape_;
};

/// Storage of a new dataset: contiguous, or in chunks of this shape, optionally shuffled and deflated.
struct Storage {
  Shape chunk = {};
  bool gzip = false;
};

/// An open file. Failures name the file: Error{io} when writing, Error{format} when reading.
class File {
 public:
  /// Creates a file that this rank alone writes.
  static File create(const std::filesystem::path& path);
  /// Creates a file into whose datasets all ranks write. Rank 0 calls `make` to create groups, attributes and
  /// datasets; then each rank opens the file on its own, and none may add anything: ranks that share a file
  /// through HDF5 would wait for ever for one whose write fails. Collective over comm.
  static File create(const std::filesystem::path& path, const Communicator& comm,
                     const std::function<void(File&)>& make);
  /// Opens an existing file for reading.
  static File open(const std::filesystem::path& path);

  template <class T>
  Dataset create_dataset(const std::string& name, const Shape& shape, const Storage& storage = {}) {
    return create_dataset(name, memory_type<T>(), shape, storage);
  }
  /// Writes a whole dataset at once, to a file of one rank.
  template <class T>
  void write(const std::string& name, const Shape& shape, std::span<const T> data) {
    create_dataset<T>(name, shape).write(Shape(shape.size(), 0), shape, data);
  }
  /// Opens a dataset to read, or to write if the file is new. Throws Error{format} if it does not exist, is a
  /// link, or is stored outside the file.
  Dataset dataset(const std::string& name) const;
  /// Whether the values of a dataset are stored in other files.
  bool refers_to_others(const std::string& name) const;
  /// Reads the whole dataset, which must hold T in this shape.
  template <class T>
  std::vector<T> read(const std::string& name, const Shape& shape) const {
    const Dataset source = dataset(name);
    source.require<T>(shape);
    std::vector<T> values(source.size());
    source.read(Shape(shape.size(), 0), shape, std::span<T>(values));
    return values;
  }

  /// Closes a file that was written and whose datasets are closed: hands everything to the operating system.
  /// Without this call, a failure of the last writes, which closing makes, would go unnoticed.
  void close();

  /// Creates a group without members, for attributes.
  void create_group(const std::string& name);

  /// Sets an attribute of the file, or of a group or dataset: "Header/Time".
  void set_attribute(const std::string& name, const std::string& value);
  void set_attribute(const std::string& name, double value);
  void set_attribute(const std::string& name, std::uint64_t value);
  void set_attribute(const std::string& name, std::int32_t value);
  void set_attribute(const std::string& name, const std::vector<double>& values);
  void set_attribute(const std::string& name, const std::vector<std::uint64_t>& values);
  void set_attribute(const std::string& name, const std::vector<std::string>& values);

  /// What is at the top level, for a message: "/Header, /PartType1".
  std::string contents() const;
  /// Whether there is a group or dataset of this name at the top level.
  bool has(const std::string& name) const;
  /// Throws Error{format} if the group or dataset has a damaged header.
  bool has_attribute(const std::string& name) const;
  /// Names of the attributes of a group or dataset, or of the file, "."; none if it does not exist. Throws Error{format} if
  /// its header is damaged.
  std::vector<std::string> attributes_of(const std::string& object) const;
  /// Whether an attribute holds numbers.
  bool holds_numbers(const std::string& name) const;
  /// Texts are UTF-8.
  std::string text_attribute(const std::string& name) const;
  /// Numbers of any type; integers must be whole, from 0 on.
  double number_attribute(const std::string& name) const;
  std::uint64_t integer_attribute(const std::string& name) const;
  std::vector<double> numbers_attribute(const std::string& name) const;
  std::vector<std::uint64_t> integers_attribute(const std::string& name) const;
  std::vector<std::string> texts_attribute(const std::string& name) const;

 private:
  File(Handle id, std::string path);
  Dataset create_dataset(const std::string& name, hid_t type, const Shape& shape, const Storage& storage);
  void write_attribute(const std::string& name, hid_t type, const Shape& shape, const void* data);
  Handle open_attribute(const std::string& name, std::set<H5T_class_t> classes, std::size_t& size) const;
  std::vector<std::string> fixed_texts(hid_t attribute, hid_t type, std::size_t count,
                                       const std::string& name) const;
  std::vector<std::string> heap_texts(const std::string& name, std::size_t count) const;
  void ensure_own(const std::string& object, const std::string& what) const;
  void ensure_sound(const std::string& object, const std::string& what) const;
  Places& places() const;
  std::optional<std::uint64_t> header_of(const std::string& object) const;
  void ensure_read(bool good, const std::string& what) const;
  void ensure_present(const std::string& object, const std::string& what) const;
  [[noreturn]] void fail_for_lack(const std::string& within, const std::string& what) const;

  Handle id_;
  std::string path_;
  bool reading_ = false;
  mutable std::optional<Places> places_;  ///< opened with the first question
  mutable std::set<std::string> sound_;   ///< objects whose headers have been checked
};

/// Frees what HDF5 keeps of closed files for others to come, which would grow over hundreds of checkpoints. Too
/// slow to call for each of thousands of small files.
void release_memory();

}  // namespace cosmo::core::hdf5
