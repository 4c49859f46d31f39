#include "core/hdf5/hdf5.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "core/file/file_kind.hpp"
#include "core/file/input_file.hpp"
#include "core/hdf5/diagnosis.hpp"
#include "core/hdf5/header.hpp"
#include "core/hdf5/types.hpp"

namespace cosmo::core::hdf5 {

namespace {

Handle properties(hid_t kind) { return Handle(H5Pcreate(kind), H5Pclose); }

std::size_t elements(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

/// Throws Error{format} if a dataset claims more values than its bytes in the file can hold, or has large
/// chunks that would be inflated whole for every part that is read.
void ensure_stored(hid_t dataset, hid_t creation, const std::string& where) {
  constexpr std::uint64_t kMostDeflated = 1032;  // highest compression ratio of deflate
  constexpr std::uint64_t kMostChunk = std::uint64_t{64} << 20;
  const Handle type(H5Dget_type(dataset), H5Tclose), space(H5Dget_space(dataset), H5Sclose);
  const std::uint64_t size = H5Tget_size(type.get()), stored = H5Dget_storage_size(dataset);
  const hssize_t points = H5Sget_simple_extent_npoints(space.get());
  const bool chunked = H5Pget_layout(creation) == H5D_CHUNKED,
             packed = chunked && H5Pget_nfilters(creation) > 0;
  ensure(points >= 0 && static_cast<std::uint64_t>(points) / (packed ? kMostDeflated : 1) <= stored / size,
         Fault::format,
         "{} claims {} values and only {} bytes of it are in the file: it is damaged or was never written, "
         "restore it.",
         where, points, stored);
  if (!packed) return;
  Shape chunk(32);
  const int rank = H5Pget_chunk(creation, static_cast<int>(chunk.size()), chunk.data());
  chunk.resize(static_cast<std::size_t>(std::max(rank, 0)));
  std::uint64_t bytes = size;
  for (const hsize_t length : chunk) bytes = length > kMostChunk / bytes ? kMostChunk + 1 : bytes * length;
  ensure(bytes <= kMostChunk, Fault::format,
         "{} is compressed in chunks of more than {} MiB, each inflated whole for any part of it: make them "
         "smaller with h5repack.",
         where, kMostChunk >> 20);
}

/// HDF5 1.14 flushes no single dataset of a file opened by way of MPI. Flushing the file writes its metadata again, so other
/// files are not flushed as a whole.
bool flush(hid_t dataset) {
  const Handle file(H5Iget_file_id(dataset), H5Fclose);
  const Handle access(H5Fget_access_plist(file.get()), H5Pclose);
  const bool shared = H5Pget_driver(access.get()) == H5FD_MPIO;
  return (shared ? H5Fflush(dataset, H5F_SCOPE_LOCAL) : H5Dflush(dataset)) >= 0;
}

}  // namespace

Dataset::Dataset(Handle id, std::string where) : id_(std::move(id)), where_(std::move(where)) {
  const Handle space(H5Dget_space(id_.get()), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  ensure(rank >= 0, Fault::format, "{} has no readable shape: restore the file.", where_);
  shape_.resize(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space.get(), shape_.data(), nullptr);
}

std::size_t Dataset::size() const { return elements(shape_); }

void Dataset::require_type(hid_t type, const Shape& shape) const {
  ensure(shape_ == shape, Fault::format, "{} has shape ({}) where ({}) is expected: restore the file.",
         where_, fmt::join(shape_, ", "), fmt::join(shape, ", "));
  const Handle stored(H5Dget_type(id_.get()), H5Tclose);
  ensure(H5Tequal(stored.get(), little_endian(type)) > 0, Fault::format,
         "{} holds another type of number than expected: restore the file.", where_);
}

std::size_t Dataset::float_bytes() const {
  const Handle stored(H5Dget_type(id_.get()), H5Tclose);
  return H5Tget_class(stored.get()) == H5T_FLOAT ? H5Tget_size(stored.get()) : 0;
}

bool Dataset::holds_numbers() const {
  const Handle stored(H5Dget_type(id_.get()), H5Tclose);
  return float_bytes() > 0 || H5Tget_class(stored.get()) == H5T_INTEGER;
}

void Dataset::transfer(hid_t type, const Shape& start, const Shape& count, void* data, std::size_t size,
                       bool writing) const {
  ensure(elements(count) == size && count.size() == shape_.size(), Fault::internal,
         "{}: {} elements given for a box of another size.", where_, size);
  const Handle file_space(H5Dget_space(id_.get()), H5Sclose);
  const Handle memory_space = space_of(count);
  if (size == 0) {
    H5Sselect_none(file_space.get());
    H5Sselect_none(memory_space.get());
  } else if (!count.empty()) {
    const bool selected = H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, start.data(), nullptr,
                                              count.data(), nullptr) >= 0 &&
                          H5Sselect_valid(file_space.get()) > 0;
    ensure(selected, Fault::format, "{} ends before the part that is needed: restore the file.", where_);
  }
  if (writing) {
    const bool written =
        H5Dwrite(id_.get(), type, memory_space.get(), file_space.get(), H5P_DEFAULT, data) >= 0;
    // Closing would flush too, but its failure would go unnoticed.
    const bool flushed = flush(id_.get());
    ensure_written(written && flushed, where_);
  } else {
    ensure(H5Dread(id_.get(), type, memory_space.get(), file_space.get(), H5P_DEFAULT, data) >= 0,
           Fault::format, "{} cannot be read: its bytes are damaged, restore the file.", where_);
  }
}

File::File(Handle id, std::string path) : id_(std::move(id)), path_(std::move(path)) {}

File File::create(const std::filesystem::path& path) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  const Handle creation = properties(H5P_FILE_CREATE);
  H5Pset_obj_track_times(creation.get(), false);
  const Handle access(access_properties(), H5Pclose);
  H5Pset_fclose_degree(access.get(), H5F_CLOSE_SEMI);  // a dataset left open is an error
  Handle id(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), H5Fclose);
  ensure_written(id.get() >= 0, path.string());
  return File(std::move(id), path.string());
}

File File::create(const std::filesystem::path& path, const Communicator& comm,
                  const std::function<void(File&)>& make) {
  std::optional<File> file;
  comm.agree([&] {
    if (comm.rank() != 0) return;
    file.emplace(create(path));
    make(*file);
    if (comm.size() > 1) file->close();
  });
  comm.agree([&] {
    if (comm.size() == 1) return;
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    const Handle access(access_properties(), H5Pclose);
    // Each rank opens the file alone: closing writes the superblock, and if ranks did that together, one
    // whose write fails would leave the others waiting. It does not change, so all write the same bytes.
    H5Pset_fapl_mpio(access.get(), MPI_COMM_SELF, MPI_INFO_NULL);
    H5Pset_fclose_degree(access.get(), H5F_CLOSE_SEMI);
    Handle id(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.get()), H5Fclose);
    ensure_written(id.get() >= 0, path.string());
    file.emplace(File(std::move(id), path.string()));
  });
  return std::move(*file);
}

File File::open(const std::filesystem::path& path) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  (void)ensure_readable(path);
  if (H5Fis_hdf5(path.c_str()) == 0) {
    const std::string kind = kind_of_file(path);
    fail(Fault::format, "{} is not an HDF5 file{}", path.string(),
         kind.empty() ? std::string(" of any kind that is known: check its name, convert it, or restore it.")
                      : fmt::format(" but {}.", kind));
  }
  const Handle access(access_properties(), H5Pclose);
  Handle id(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
  if (id.get() < 0) fail(Fault::format, "{} {}", path.string(), why_not_opened(path));
  const Handle creation(H5Fget_create_plist(id.get()), H5Pclose);
  hsize_t user_block = 0;
  std::size_t addresses = 0, lengths = 0;
  ensure(H5Pget_userblock(creation.get(), &user_block) >= 0 && user_block == 0 &&
             H5Pget_sizes(creation.get(), &addresses, &lengths) >= 0 && addresses == 8 && lengths == 8,
         Fault::format,
         "{} has a user block, or addresses of other than 8 bytes: copy its contents into a new HDF5 file.",
         path.string());
  File file(std::move(id), path.string());
  file.reading_ = true;
  return file;
}

Dataset File::create_dataset(const std::string& name, hid_t type, const Shape& shape,
                             const Storage& storage) {
  const Handle creation = properties(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(creation.get(), false);
  H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER);
  if (!storage.chunk.empty()) {
    H5Pset_chunk(creation.get(), static_cast<int>(storage.chunk.size()), storage.chunk.data());
  }
  if (storage.gzip) {
    H5Pset_shuffle(creation.get());
    H5Pset_deflate(creation.get(), 1);
  }
  const Handle space = space_of(shape);
  const Handle link = properties(H5P_LINK_CREATE);
  H5Pset_create_intermediate_group(link.get(), 1);
  Handle id(H5Dcreate2(id_.get(), name.c_str(), little_endian(type), space.get(), link.get(), creation.get(),
                       H5P_DEFAULT),
            H5Dclose);
  ensure_written(id.get() >= 0, path_ + " /" + name);
  return Dataset(std::move(id), path_ + " /" + name);
}

/// Throws Error{format} if HDF5 would read beyond the header of an object in a file opened for reading.
void File::ensure_sound(const std::string& object, const std::string& what) const {
  if (!reading_ || sound_.contains(object)) return;  // a header that is written may still be in memory
  const auto header = header_of(object);
  ensure_read(header && is_sound(places(), *header), what);
  sound_.insert(object);
}

/// The file's bytes, for one question about them.
Places& File::places() const {
  if (!places_) places_.emplace(path_);
  places_->renew_limit();
  return *places_;
}

/// The address of the object's header in the file, if the object exists.
std::optional<std::uint64_t> File::header_of(const std::string& object) const {
  H5O_info_t info;
  if (H5Oget_info_by_name2(id_.get(), object.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0) return {};
  return info.addr;
}

/// Throws Error{format} unless the object that `what` needs is in this file itself, so that the file's
/// checksum covers it.
void File::ensure_own(const std::string& object, const std::string& what) const {
  for (std::size_t end = 0; end != std::string::npos && object != ".";) {
    end = object.find('/', end + 1);
    const std::string part = object.substr(0, end);
    H5L_info_t link;
    ensure_read(H5Lget_info(id_.get(), part.c_str(), &link, H5P_DEFAULT) >= 0, what);
    ensure(link.type == H5L_TYPE_HARD, Fault::format,
           "{} has a link in place of /{}: copy what it stands for into the file.", path_, part);
  }
}

Dataset File::dataset(const std::string& name) const {
  ensure_present(name, "dataset /" + name);
  ensure_own(name, "dataset /" + name);
  ensure_sound(name, "dataset /" + name);
  Handle id(H5Dopen2(id_.get(), name.c_str(), H5P_DEFAULT), H5Dclose);
  H5O_info_t object;
  ensure(id.get() >= 0 ||
             H5Oget_info_by_name2(id_.get(), name.c_str(), &object, H5O_INFO_BASIC, H5P_DEFAULT) < 0 ||
             object.type == H5O_TYPE_DATASET,
         Fault::format, "{} has a group in place of the dataset /{}: convert it.", path_, name);
  ensure_read(id.get() >= 0, "dataset /" + name);
  const Handle creation(H5Dget_create_plist(id.get()), H5Pclose);
  const std::string where = path_ + " /" + name;
  ensure_stored_here(creation.get(), where);
  if (reading_) {
    ensure_decodable(creation.get(), where);
    ensure_stored(id.get(), creation.get(), where);
  }
  return Dataset(std::move(id), path_ + " /" + name);
}

bool File::refers_to_others(const std::string& name) const {
  ensure_own(name, "dataset /" + name);
  ensure_sound(name, "dataset /" + name);
  const Handle id(H5Dopen2(id_.get(), name.c_str(), H5P_DEFAULT), H5Dclose);
  ensure_read(id.get() >= 0, "dataset /" + name);
  const Handle creation(H5Dget_create_plist(id.get()), H5Pclose);
  return H5Pget_layout(creation.get()) == H5D_VIRTUAL;
}

void File::create_group(const std::string& name) {
  const Handle creation = properties(H5P_GROUP_CREATE);
  H5Pset_obj_track_times(creation.get(), false);
  const Handle id(H5Gcreate2(id_.get(), name.c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT), H5Gclose);
  ensure_written(id.get() >= 0, path_ + " /" + name);
}

void File::close() {
  const bool flushed = H5Fflush(id_.get(), H5F_SCOPE_GLOBAL) >= 0;
  const bool closed = id_.close();
  ensure_written(flushed && closed, path_);
}

void release_memory() { H5garbage_collect(); }

void File::ensure_read(bool good, const std::string& what) const {
  ensure(good, Fault::format, "{} has no readable {}: its metadata are damaged, restore it.", path_, what);
}

/// Throws Error{format} unless the object that `what` needs exists.
void File::ensure_present(const std::string& object, const std::string& what) const {
  std::string within = "/";
  for (std::size_t end = 0; end != std::string::npos && object != ".";) {
    end = object.find('/', end + 1);
    const std::string part = object.substr(0, end);
    if (H5Lexists(id_.get(), part.c_str(), H5P_DEFAULT) == 0) fail_for_lack(within, what);
    within = "/" + part;
  }
}

/// Throws Error{format} for what a group or dataset should have.
void File::fail_for_lack(const std::string& within, const std::string& what) const {
  const Handle group(H5Gopen2(id_.get(), within.c_str(), H5P_DEFAULT), H5Gclose);
  fail(Fault::format,
       "{} has no {}{}: give a file of the expected layout (docs/reference/formats.md), or a complete one.",
       path_, what,
       group.get() < 0
           ? ""
           : fmt::format("; {} has {}", within == "/" ? "the file" : within, members_of(group.get())));
}

std::string File::contents() const { return members_of(id_.get()); }

bool File::has(const std::string& name) const { return H5Lexists(id_.get(), name.c_str(), H5P_DEFAULT) > 0; }

}  // namespace cosmo::core::hdf5
