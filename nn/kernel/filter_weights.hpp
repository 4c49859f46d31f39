#pragma once
// Weights of filtered convolutions and their gradients, to and from the points of minimal filtering.

#include <cstdint>

#include "nn/kernel/filter_tiles.hpp"
#include "nn/kernel/filtered_convolution.hpp"

namespace cosmo::nn {
namespace {  // each file that includes this has its own copy, for its own instruction set

/// The scales of G's rows for the points of all three axes.
inline float scale_of(std::int64_t z, std::int64_t y, std::int64_t x) {
  const auto at = [](std::int64_t i) { return kRowScales[static_cast<std::size_t>(i)]; };
  return at(z) * at(y) * at(x);
}

/// For vectors of `lanes` floats, which are also the blocks of channels, and kernels of `kernel`³ cells.
template <int lanes, int kernel>
struct FilterWeights {
  using V = Floats<lanes>;
  static constexpr int kTaps = kernel * kernel * kernel;

  /// Blocks of outputs that products are computed for at once.
  static int vectors(std::int64_t outputs) { return outputs % (2 * lanes) == 0 ? 2 : 1; }

  /// Packs the weights of one block of inputs and one of outputs. `taps` is (kernel³, inputs, outputs).
  static void pack_pair(const FilteredConvolution& layer, const float* taps, std::int64_t in,
                        std::int64_t out, float* packed) {
    const std::int64_t width = vectors(layer.outputs) * lanes, groups = layer.outputs / width;
    packed += out / width * layer.inputs * width + out % width;
    for (int c = 0; c < lanes; ++c) {
      V rows[kernel][kernel][kTile], planes[kernel][kTile][kTile];
      for (int zy = 0; zy < kernel * kernel; ++zy) {
        V filter[kernel];
        unrolled<kernel>([&](auto x) __attribute__((always_inline)) {
          filter[x] = load_as<V>(taps + ((zy * kernel + x) * lanes + c) * lanes);
        });
        transform_filter<kernel>(filter, rows[zy / kernel][zy % kernel]);
      }
      for (int zx = 0; zx < kernel * kTile; ++zx) {
        V filter[kernel], products[kTile];
        unrolled<kernel>([&](auto y)
                             __attribute__((always_inline)) { filter[y] = rows[zx / kTile][y][zx % kTile]; });
        transform_filter<kernel>(filter, products);
        unrolled<kTile>([&](auto y) __attribute__((always_inline)) {
          planes[zx / kTile][y][zx % kTile] = products[y];
        });
      }
      for (int yx = 0; yx < kPlanePoints; ++yx) {
        V filter[kernel], products[kTile];
        unrolled<kernel>([&](auto z) __attribute__((always_inline)) {
          filter[z] = planes[z][yx / kTile][yx % kTile];
        });
        transform_filter<kernel>(filter, products);
        unrolled<kTile>([&](auto z) __attribute__((always_inline)) {
          store_from(packed + ((z * kPlanePoints + yx) * groups * layer.inputs + in + c) * width,
                     products[z] * scale_of(z, yx / kTile, yx % kTile));
        });
      }
    }
  }

  static void pack(const FilteredConvolution& layer, const float* weights, float* packed) {
    const std::int64_t ins = layer.inputs / lanes, outs = layer.outputs / lanes;
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < ins * outs; ++i)
      pack_pair(layer, weights + i * kTaps * lanes * lanes, i % ins * lanes, i / ins * lanes, packed);
  }

  static void pack_transposed(const FilteredConvolution& layer, const float* weights, float* packed) {
    const FilteredConvolution transposed = layer.transposed();
    const std::int64_t ins = layer.inputs / lanes, outs = layer.outputs / lanes;
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < ins * outs; ++i) {
      const float* const from = weights + i * kTaps * lanes * lanes;
      alignas(V) float taps[kTaps * lanes * lanes];
      for (int tap = 0; tap < kTaps; ++tap) {
        for (int j = 0; j < lanes * lanes; ++j) {
          taps[tap * lanes * lanes + j] = from[((kTaps - 1 - tap) * lanes + j % lanes) * lanes + j / lanes];
        }
      }
      pack_pair(transposed, taps, i / ins * lanes, i % ins * lanes, packed);
    }
  }

  /// The gradient of the weights between input channel `in` and one block of outputs, from the sums of all
  /// parts: (point, input, output) and those of the biases.
  static void finish_gradient(const FilteredConvolution& layer, const float* sums, std::int64_t parts,
                              std::int64_t in, std::int64_t out, float* d_weights) {
    const std::int64_t size = layer.packed() + layer.outputs;
    V planes[kernel][kTile][kTile], rows[kernel][kernel][kTile];
    for (std::int64_t yx = 0; yx < kPlanePoints; ++yx) {
      V products[kTile], values[kernel];
      for (int z = 0; z < kTile; ++z) {
        const float* const from = sums + ((z * kPlanePoints + yx) * layer.inputs + in) * layer.outputs + out;
        V sum = load_as<V>(from);
        for (std::int64_t part = 1; part < parts; ++part) sum += load_as<V>(from + part * size);
        products[z] = sum * scale_of(z, yx / kTile, yx % kTile);
      }
      transform_products<kernel>(products, values);
      unrolled<kernel>([&](auto z)
                           __attribute__((always_inline)) { planes[z][yx / kTile][yx % kTile] = values[z]; });
    }
    for (int zx = 0; zx < kernel * kTile; ++zx) {
      V products[kTile], values[kernel];
      unrolled<kTile>([&](auto y) __attribute__((always_inline)) {
        products[y] = planes[zx / kTile][y][zx % kTile];
      });
      transform_products<kernel>(products, values);
      unrolled<kernel>([&](auto y)
                           __attribute__((always_inline)) { rows[zx / kTile][y][zx % kTile] = values[y]; });
    }
    d_weights += ((out / lanes * (layer.inputs / lanes) + in / lanes) * kTaps * lanes + in % lanes) * lanes;
    for (int zy = 0; zy < kernel * kernel; ++zy) {
      V values[kernel];
      transform_products<kernel>(rows[zy / kernel][zy % kernel], values);
      unrolled<kernel>([&](auto x) __attribute__((always_inline)) {
        store_from(d_weights + (zy * kernel + x) * lanes * lanes, values[x]);
      });
    }
  }
};

}  // namespace
}  // namespace cosmo::nn
