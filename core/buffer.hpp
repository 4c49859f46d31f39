#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

namespace cosmo::core {

/// A move-only, uninitialised array of fixed size on a 64-byte boundary; on huge pages if it is large and the
/// system has them. Its spans are valid as long as the buffer. Throws std::bad_alloc.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  static constexpr std::size_t kAlignment = 64;

  Buffer() = default;
  explicit Buffer(std::size_t size) : size_(size) {
    if (size == 0) return;
    const bool huge = size * sizeof(T) >= kLarge;
    const std::size_t alignment = huge ? kHugePage : kAlignment;
    const std::size_t bytes = (size * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    data_.reset(static_cast<T*>(aligned(alignment, bytes)));
    if (!data_) throw std::bad_alloc();
    // Only a hint: without huge pages, loops that stride over whole planes miss in the TLB at every step.
    if (huge) (void)::madvise(data_.get(), bytes, MADV_HUGEPAGE);
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }
  std::span<T> span() { return {data_.get(), size_}; }
  std::span<const T> span() const { return {data_.get(), size_}; }

 private:
  static constexpr std::size_t kHugePage = std::size_t{2} << 20, kLarge = 4 * kHugePage;

  static void* aligned(std::size_t alignment, std::size_t bytes) {
    void* memory = nullptr;
    return ::posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
  }

  struct Release {
    void operator()(T* pointer) const { std::free(pointer); }
  };
  std::unique_ptr<T, Release> data_;
  std::size_t size_ = 0;
};

/// A buffer of `size` zeros.
template <class T>
Buffer<T> zeros(std::size_t size) {
  Buffer<T> buffer(size);
  std::uninitialized_fill_n(buffer.data(), size, T{});
  return buffer;
}

}  // namespace cosmo::core
