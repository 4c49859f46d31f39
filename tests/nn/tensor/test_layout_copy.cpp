#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <functional>
#include <numeric>
#include <vector>

#include "core/bfloat16.hpp"
#include "nn/tensor/layout_copy.hpp"

using namespace cosmo;
using Layout = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;
using Type = dnnl::memory::data_type;

namespace {

const dnnl::engine kEngine(dnnl::engine::kind::cpu, 0);

/// 1, 2, ..., up to 256, which bf16 holds exactly, and again.
std::vector<float> numbered(const dnnl::memory::dims& dims) {
  std::vector<float> values(static_cast<std::size_t>(
      std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>())));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 256 + 1);
  return values;
}

double sum_of(const dnnl::memory& memory) {
  const std::size_t bytes = memory.get_desc().get_size();
  double sum = 0;
  if (nn::type_of(memory.get_desc()) == Type::f32) {
    const auto* values = static_cast<const float*>(memory.get_data_handle());
    for (std::size_t i = 0; i < bytes / sizeof(float); ++i) sum += static_cast<double>(values[i]);
  } else {
    const auto* values = static_cast<const core::Bfloat16*>(memory.get_data_handle());
    for (std::size_t i = 0; i < bytes / sizeof(core::Bfloat16); ++i)
      sum += static_cast<double>(static_cast<float>(values[i]));
  }
  return sum;
}

}  // namespace

TEST_CASE("copies keep all values in any layout, with zeros for padding") {
  struct Case {
    dnnl::memory::dims dims;
    Tag plain, blocked;
  };
  for (const Case& c :
       {Case{{5, 19, 3, 3, 3}, Tag::abcde, Tag::OIdhw16i16o},
        Case{{32, 16, 2, 2, 2}, Tag::abcde, Tag::OIdhw16i16o},
        Case{{19, 5, 2, 3, 4}, Tag::abcde, Tag::OIdhw8i16o2i},
        Case{{4, 1, 3, 3, 3}, Tag::abcde, Tag::Odhwi16o}, Case{{2, 5, 3, 4, 5}, Tag::abcde, Tag::nCdhw8c},
        Case{{2, 21, 3, 4, 5}, Tag::abcde, Tag::ndhwc}, Case{{100, 40}, Tag::ab, Tag::AB16b16a}}) {
    for (const Type type : {Type::f32, Type::bf16}) {
      std::vector<float> values = numbered(c.dims), back(values.size());
      const dnnl::memory plain(Layout(c.dims, Type::f32, c.plain), kEngine, values.data());
      const dnnl::memory returned(Layout(c.dims, Type::f32, c.plain), kEngine, back.data());
      const Layout layout(c.dims, type, c.blocked);
      std::vector<std::byte> room(layout.get_size(), std::byte{0x41});
      const dnnl::memory blocked(layout, kEngine, room.data());
      nn::copy_layout(plain, blocked);
      nn::copy_layout(blocked, returned);
      CHECK(back == values);
      CHECK(sum_of(blocked) == std::accumulate(values.begin(), values.end(), 0.0));
    }
  }
}

TEST_CASE("a copy into a part of a tensor leaves the rest alone") {
  std::vector<float> whole(2 * 48 * 8, 7), part = numbered({2, 16, 2, 2, 2});
  const Layout layout({2, 48, 2, 2, 2}, Type::f32, Tag::nCdhw16c);
  const dnnl::memory view(layout.submemory_desc({2, 16, 2, 2, 2}, {0, 16, 0, 0, 0}), kEngine, whole.data());
  const dnnl::memory plain(Layout({2, 16, 2, 2, 2}, Type::f32, Tag::abcde), kEngine, part.data());
  nn::copy_layout(plain, view);
  CHECK(std::count(whole.begin(), whole.end(), 7.0f) ==
        2 * 32 * 8 + std::count(part.begin(), part.end(), 7.0f));
  CHECK(whole[16 * 8] == 1);      // channel 16 of the first sample, cell 0
  CHECK(whole[16 * 8 + 1] == 9);  // channel 17
}
