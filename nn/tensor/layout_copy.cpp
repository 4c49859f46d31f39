#include "nn/tensor/layout_copy.hpp"

#include <cstring>

#include "core/bfloat16.hpp"
#include "core/error.hpp"

namespace cosmo::nn {

namespace {

/// The place of a value is a sum of one entry for its index along each axis.
struct Places {
  std::vector<std::vector<std::int64_t>> of_axis;

  explicit Places(const dnnl::memory::desc& layout) : of_axis(dims_of(layout).size()) {
    const Blocking blocking(layout);
    for (std::size_t axis = 0; axis < of_axis.size(); ++axis) {
      for (std::int64_t index = 0; index < dims_of(layout)[axis]; ++index) {
        std::int64_t place = axis == 0 ? blocking.first : 0, left = index, stride = 1;
        for (std::size_t b = blocking.blocks.size(); b-- > 0; stride *= blocking.blocks[b]) {
          if (blocking.axes[b] != static_cast<int>(axis)) continue;
          place += left % blocking.blocks[b] * stride;
          left /= blocking.blocks[b];
        }
        of_axis[axis].push_back(place + left * blocking.strides[axis]);
      }
    }
  }

  /// The part of all axes but the last, for a row.
  std::int64_t of_row(std::int64_t row) const {
    std::int64_t place = 0;
    for (std::size_t axis = of_axis.size() - 1; axis-- > 0;) {
      const auto size = std::ssize(of_axis[axis]);
      place += of_axis[axis][static_cast<std::size_t>(row % size)];
      row /= size;
    }
    return place;
  }
};

/// Whether there is memory for the values alone: no padding, no gaps.
bool is_full(const dnnl::memory::desc& layout) {
  std::size_t bytes = dnnl::memory::data_type_size(type_of(layout));
  for (const std::int64_t size : dims_of(layout)) bytes *= static_cast<std::size_t>(size);
  return layout.get_size() == bytes;
}

template <class From, class To>
void copy(const dnnl::memory& source, const dnnl::memory& target) {
  const dnnl::memory::desc layout = target.get_desc();
  const Places from(source.get_desc()), to(layout);
  const auto* const values = static_cast<const From*>(source.get_data_handle());
  auto* const copies = static_cast<To*>(target.get_data_handle());
  if (Blocking(layout).padded != dims_of(layout))
    std::memset(static_cast<void*>(copies), 0, layout.get_size());
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis + 1 < to.of_axis.size(); ++axis) rows *= std::ssize(to.of_axis[axis]);
  const std::vector<std::int64_t>&from_row = from.of_axis.back(), &to_row = to.of_axis.back();
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < rows; ++row) {
    const From* const begin = values + from.of_row(row);
    To* const to_begin = copies + to.of_row(row);
    for (std::size_t i = 0; i < to_row.size(); ++i)
      to_begin[to_row[i]] = To(static_cast<float>(begin[from_row[i]]));
  }
}

template <class From>
void copy_from(const dnnl::memory& source, const dnnl::memory& target) {
  if (type_of(target.get_desc()) == dnnl::memory::data_type::f32)
    copy<From, float>(source, target);
  else
    copy<From, core::Bfloat16>(source, target);
}

}  // namespace

bool needs_own_copy(const dnnl::memory::desc& source, const dnnl::memory::desc& target) {
  return kCopiesLoseValues && !(is_full(source) && is_full(target));
}

void copy_layout(const dnnl::memory& source, const dnnl::memory& target) {
  for (const dnnl::memory& memory : {source, target}) {
    const auto type = type_of(memory.get_desc());
    core::ensure(type == dnnl::memory::data_type::f32 || type == dnnl::memory::data_type::bf16,
                 core::Fault::internal, "Only tensors in f32 or bf16 are copied.");
  }
  if (type_of(source.get_desc()) == dnnl::memory::data_type::f32)
    copy_from<float>(source, target);
  else
    copy_from<core::Bfloat16>(source, target);
}

}  // namespace cosmo::nn
