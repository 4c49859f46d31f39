#pragma once
// Private to train/nn: the kernels of filtered convolutions, for vectors of any width. Each width is compiled
// in a file of its own, for the instruction set that has it.

#include <omp.h>

#include <algorithm>
#include <cstdint>

#include "train/nn/kernel/filter_products.hpp"
#include "train/nn/kernel/filter_tiles.hpp"
#include "train/nn/kernel/filtered_convolution.hpp"

namespace cosmo::nn {
namespace {  // each file that includes this has its own copy, for its own instruction set

/// The points (y, x) of a tile.
constexpr std::int64_t kPlaneProducts = std::int64_t{kTile} * kTile;
/// [floats] Keeps values of consecutive points from falling onto the same cache lines.
constexpr std::int64_t kGap = 16;

/// A run of tiles of one image that are worked on together: tiles `first` to `end` of those with the same z.
struct TileRun {
  std::int64_t image, z, first, end;

  std::int64_t count() const { return end - first; }
};

/// How a tensor is cut into runs, all of nearly the same length and at most as long as their scratch space.
class TileRuns {
 public:
  TileRuns(const FilteredConvolution& layer, std::int64_t most)
      : images_(layer.images), tiles_(layer.tiles()), runs_((tiles_ * tiles_ + most - 1) / most) {}

  std::int64_t size() const { return images_ * tiles_ * runs_; }
  TileRun operator[](std::int64_t i) const {
    const std::int64_t run = i % runs_, plane = tiles_ * tiles_;
    return {i / runs_ / tiles_, i / runs_ % tiles_, plane * run / runs_, plane * (run + 1) / runs_};
  }
  /// The first cell of tile `tile` of a run, where tiles are `step` cells apart.
  Corner corner(const TileRun& run, std::int64_t tile, std::int64_t step, std::int64_t padding) const {
    return {run.z * step - padding, tile / tiles_ * step - padding, tile % tiles_ * step - padding};
  }

 private:
  std::int64_t images_, tiles_, runs_;
};

/// Block `block` of image `image` of a tensor with `channels` channels.
template <int lanes, class Number>
Block<Number> block_of(Number* tensor, std::int64_t image, std::int64_t channels, std::int64_t block,
                       std::int64_t side) {
  return {tensor + (image * channels / lanes + block) * side * side * side * lanes, side};
}

/// A scratch array of points (36, + kGap) for `tiles` tiles of `channels` channels in `planes` planes.
struct PointArray {
  float* values;
  PointStrides strides;

  static std::int64_t size(std::int64_t planes, std::int64_t tiles, std::int64_t channels) {
    return kPlaneProducts * (planes * tiles * channels + kGap);
  }
  PointArray(float*& next, std::int64_t planes, std::int64_t tiles, std::int64_t channels)
      : values(next), strides{planes * tiles * channels + kGap, tiles * channels} {
    next += size(planes, tiles, channels);
  }
};

/// Transforms `floats` values of each plane along z into kTile arrays of that length.
template <int lanes>
void transform_planes(const float* from, std::int64_t plane, std::int64_t floats, float* to) {
  using V = Floats<lanes>;
  for (std::int64_t i = 0; i < floats; i += lanes) {
    V cells[kTile], products[kTile];
    unrolled<kTile>([&](auto z)
                        __attribute__((always_inline)) { cells[z] = load_as<V>(from + z * plane + i); });
    transform_cells(cells, products);
    unrolled<kTile>([&](auto z)
                        __attribute__((always_inline)) { store_from(to + z * floats + i, products[z]); });
  }
}

template <int lanes, int taps>
void transform_gradient_planes(const float* from, std::int64_t plane, std::int64_t floats, float* to) {
  using V = Floats<lanes>;
  for (std::int64_t i = 0; i < floats; i += lanes) {
    V cells[taps], products[kTile];
    unrolled<taps>([&](auto z)
                       __attribute__((always_inline)) { cells[z] = load_as<V>(from + z * plane + i); });
    transform_filter<taps>(cells, products);
    unrolled<kTile>([&](auto z)
                        __attribute__((always_inline)) { store_from(to + z * floats + i, products[z]); });
  }
}

template <int lanes, int count>
void transform_product_planes(const float* from, std::int64_t floats, float* to, std::int64_t plane) {
  using V = Floats<lanes>;
  for (std::int64_t i = 0; i < floats; i += lanes) {
    V products[kTile], sums[count];
    unrolled<kTile>([&](auto z)
                        __attribute__((always_inline)) { products[z] = load_as<V>(from + z * floats + i); });
    transform_products<count>(products, sums);
    unrolled<count>([&](auto z) __attribute__((always_inline)) { store_from(to + z * plane + i, sums[z]); });
  }
}

/// The scales of G's rows for a point of all three axes; `point` is y · kTile + x.
inline float scale_of(std::int64_t point, std::int64_t z) {
  const auto at = [](std::int64_t i) { return kRowScales[static_cast<std::size_t>(i)]; };
  return at(point / kTile) * at(point % kTile) * at(z);
}

/// The kernels for vectors of `lanes` floats, which are also the blocks of channels, and kernels of `kernel`³
/// cells.
template <int lanes, int kernel>
struct Filter {
  using V = Floats<lanes>;
  static constexpr int kStep = kTile + 1 - kernel;
  static constexpr int kTaps = kernel * kernel * kernel;

  /// Blocks of outputs that products are computed for at once.
  static int vectors(std::int64_t outputs) { return outputs % (2 * lanes) == 0 ? 2 : 1; }

  /// Tiles in a run. Each tile's points are written and read once, and each run reads all transformed weights or
  /// reads and writes their sums: in a run of this length the latter are two thirds of the floats that move.
  /// Where weights are few, runs are short, so that points stay in the second-level cache.
  static std::int64_t tiles_together(const FilteredConvolution& layer, std::int64_t weight_passes) {
    const std::int64_t points = kPlaneProducts * 2 * (kTile * layer.inputs + kStep * layer.outputs);
    return std::clamp<std::int64_t>(weight_passes * layer.packed() / (2 * points), 12, 32);
  }
  static constexpr std::int64_t kForwardPasses = 1, kGradientPasses = 2;

  /// [floats] Scratch space of one thread.
  static std::int64_t run_scratch(const FilteredConvolution& layer, std::int64_t weight_passes) {
    const std::int64_t tiles = tiles_together(layer, weight_passes);
    return PointArray::size(kTile, tiles, layer.inputs) + PointArray::size(kStep, tiles, layer.outputs) +
           kTile * tiles * (layer.inputs + layer.outputs);
  }
  static std::int64_t scratch(const FilteredConvolution& layer) {
    return omp_get_max_threads() * run_scratch(layer, kForwardPasses);
  }
  static std::int64_t gradient_scratch(const FilteredConvolution& layer) {
    return parts_of(layer) * (layer.packed() + layer.outputs) +
           omp_get_max_threads() * run_scratch(layer, kGradientPasses);
  }

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
      for (int point = 0; point < kPlaneProducts; ++point) {
        V filter[kernel], products[kTile];
        unrolled<kernel>([&](auto z) __attribute__((always_inline)) {
          filter[z] = planes[z][point / kTile][point % kTile];
        });
        transform_filter<kernel>(filter, products);
        unrolled<kTile>([&](auto z) __attribute__((always_inline)) {
          store_from(packed + ((point * kTile + z) * groups * layer.inputs + in + c) * width,
                     products[z] * scale_of(point, z));
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

  /// Transforms the input of a run along x and y.
  static void read_cells(const FilteredConvolution& layer, const TileRuns& runs, const TileRun& run,
                         const float* input, const PointArray& cells) {
    for (std::int64_t in = 0; in < layer.inputs; in += lanes) {
      const auto block = block_of<lanes>(input, run.image, layer.inputs, in / lanes, layer.side);
      for (std::int64_t tile = 0; tile < run.count(); ++tile) {
        read_tile<lanes>(block, runs.corner(run, run.first + tile, kStep, layer.padding), layer.periodic,
                         cells.values + tile * layer.inputs + in, cells.strides);
      }
    }
  }

  static void convolve_run(const FilteredConvolution& layer, const TileRuns& runs, const TileRun& run,
                           const float* input, const float* packed, const float* biases, float slope,
                           float* output, float* scratch) {
    const std::int64_t tiles = run.count(), width = vectors(layer.outputs) * lanes;
    const std::int64_t cell_floats = tiles * layer.inputs, sum_floats = tiles * layer.outputs;
    const auto multiply_group = width == lanes ? multiply<lanes, 1> : multiply<lanes, 2>;
    const PointArray cells(scratch, kTile, tiles, layer.inputs), sums(scratch, kStep, tiles, layer.outputs);
    float* const lines = scratch;  // of one point: (z, tile, input)
    float* const products = lines + kTile * cell_floats;
    read_cells(layer, runs, run, input, cells);
    for (std::int64_t point = 0; point < kPlaneProducts; ++point) {
      transform_planes<lanes>(cells.values + point * cells.strides.point, cell_floats, cell_floats, lines);
      for (int z = 0; z < kTile; ++z) {
        for (std::int64_t out = 0; out < layer.outputs; out += width, packed += layer.inputs * width) {
          multiply_group(tiles, layer.inputs, lines + z * cell_floats, packed,
                         products + z * sum_floats + out, layer.outputs);
        }
      }
      transform_product_planes<lanes, kStep>(products, sum_floats, sums.values + point * sums.strides.point,
                                             sum_floats);
    }
    for (std::int64_t out = 0; out < layer.outputs; out += lanes) {
      const auto block = block_of<lanes>(output, run.image, layer.outputs, out / lanes, layer.output_side());
      const Finish<lanes> finish = {biases == nullptr ? V{} : load_as<V>(biases + out), slope};
      for (std::int64_t tile = 0; tile < tiles; ++tile) {
        write_tile<lanes, kStep>(sums.values + tile * layer.outputs + out, sums.strides, finish, block,
                                 runs.corner(run, run.first + tile, kStep, 0));
      }
    }
    end_streams();
  }

  static void convolve(const FilteredConvolution& layer, const float* input, const float* packed,
                       const float* biases, float slope, float* output, float* scratch) {
    const std::int64_t own = run_scratch(layer, kForwardPasses);
    const TileRuns runs(layer, tiles_together(layer, kForwardPasses));
    const std::int64_t grain = std::max<std::int64_t>(1, runs.size() / 64);  // neighbours share input
#pragma omp parallel for schedule(dynamic, grain)
    for (std::int64_t i = 0; i < runs.size(); ++i) {
      convolve_run(layer, runs, runs[i], input, packed, biases, slope, output,
                   scratch + omp_get_thread_num() * own);
    }
  }

  /// Adds the contribution of a run to the sums of outputs `first` to `end`: (point, z, input, output), then
  /// (output) of the biases.
  static void add_run(const FilteredConvolution& layer, const TileRuns& runs, const TileRun& run,
                      std::int64_t first, std::int64_t end, const float* input, const float* d_output,
                      float* sums, float* scratch) {
    const std::int64_t tiles = run.count(), outputs = end - first;
    const std::int64_t cell_floats = tiles * layer.inputs, gradient_floats = tiles * outputs;
    const auto add_products = vectors(outputs) == 2 ? add_outer<lanes, 2> : add_outer<lanes, 1>;
    const PointArray cells(scratch, kTile, tiles, layer.inputs), gradients(scratch, kStep, tiles, outputs);
    float* const cell_lines = scratch;  // of one point: (z, tile, channel)
    float* const gradient_lines = cell_lines + kTile * cell_floats;
    read_cells(layer, runs, run, input, cells);
    for (std::int64_t out = 0; out < outputs; out += lanes) {
      const auto block =
          block_of<lanes>(d_output, run.image, layer.outputs, (first + out) / lanes, layer.output_side());
      for (std::int64_t tile = 0; tile < tiles; ++tile) {
        read_gradient_tile<lanes, kStep>(block, runs.corner(run, run.first + tile, kStep, 0),
                                         gradients.values + tile * outputs + out, gradients.strides,
                                         sums + layer.packed() + first + out);
      }
    }
    sums += first;
    for (std::int64_t point = 0; point < kPlaneProducts; ++point) {
      transform_planes<lanes>(cells.values + point * cells.strides.point, cell_floats, cell_floats,
                              cell_lines);
      transform_gradient_planes<lanes, kStep>(gradients.values + point * gradients.strides.point,
                                              gradient_floats, gradient_floats, gradient_lines);
      for (int z = 0; z < kTile; ++z, sums += layer.inputs * layer.outputs) {
        add_products(tiles, layer.inputs, outputs, cell_lines + z * cell_floats,
                     gradient_lines + z * gradient_floats, sums, layer.outputs);
      }
    }
  }

  /// Number of parts of the volume in which sums are made, for any number of threads, before the parts are
  /// summed. It is smaller for more weights, because a part costs as much as the products of some 24 tiles.
  static std::int64_t parts_of(const FilteredConvolution& layer) {
    constexpr std::int64_t kMany = 1 << 18, kMost = 1 << 20;
    return layer.packed() > kMost ? 2 : layer.packed() > kMany ? 4 : 8;
  }
  /// Number of slices of the outputs that threads can sum separately within a part: where there are few parts.
  static std::int64_t slices_of(const FilteredConvolution& layer) {
    constexpr std::int64_t kSlice = 64;
    return parts_of(layer) == 2 && layer.outputs % kSlice == 0 ? layer.outputs / kSlice : 1;
  }

  /// The gradient of the weights between input channel `in` and one block of outputs, from the sums of all
  /// parts.
  static void finish_gradient(const FilteredConvolution& layer, const float* sums, std::int64_t in,
                              std::int64_t out, float* d_weights) {
    const std::int64_t parts = parts_of(layer), size = layer.packed() + layer.outputs;
    V planes[kernel][kTile][kTile], rows[kernel][kernel][kTile];
    for (std::int64_t point = 0; point < kPlaneProducts; ++point) {
      V products[kTile], values[kernel];
      for (int z = 0; z < kTile; ++z) {
        const float* const from = sums + ((point * kTile + z) * layer.inputs + in) * layer.outputs + out;
        V sum = load_as<V>(from);
        for (std::int64_t part = 1; part < parts; ++part) sum += load_as<V>(from + part * size);
        products[z] = sum * scale_of(point, z);
      }
      transform_products<kernel>(products, values);
      unrolled<kernel>([&](auto z) __attribute__((always_inline)) {
        planes[z][point / kTile][point % kTile] = values[z];
      });
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

  static void gradient(const FilteredConvolution& layer, const float* input, const float* d_output,
                       float* d_weights, float* d_biases, float* scratch) {
    const std::int64_t own = run_scratch(layer, kGradientPasses);
    const TileRuns runs(layer, tiles_together(layer, kGradientPasses));
    const std::int64_t parts = parts_of(layer), slices = slices_of(layer), width = layer.outputs / slices;
    const std::int64_t size = layer.packed() + layer.outputs, blocks = layer.outputs / lanes;
#pragma omp parallel
    {
      float* const own_scratch = scratch + parts * size + omp_get_thread_num() * own;
#pragma omp for schedule(static)
      for (std::int64_t part = 0; part < parts; ++part) std::fill_n(scratch + part * size, size, 0.0f);
#pragma omp for schedule(dynamic)
      for (std::int64_t task = 0; task < parts * slices; ++task) {
        const std::int64_t part = task / slices, first = task % slices * width;
        for (std::int64_t i = part * runs.size() / parts; i < (part + 1) * runs.size() / parts; ++i) {
          add_run(layer, runs, runs[i], first, first + width, input, d_output, scratch + part * size,
                  own_scratch);
        }
      }
#pragma omp for schedule(static)
      for (std::int64_t i = 0; i < layer.inputs * blocks; ++i)
        finish_gradient(layer, scratch, i / blocks, i % blocks * lanes, d_weights);
    }
    for (std::int64_t out = 0; out < layer.outputs; ++out) {
      d_biases[out] = 0;
      for (std::int64_t part = 0; part < parts; ++part)
        d_biases[out] += scratch[part * size + layer.packed() + out];
    }
  }
};

/// Calls the function for the layer's kernel size.
template <auto for_three, auto for_four, class... Arguments>
auto by_kernel(const FilteredConvolution& layer, Arguments... arguments) {
  return layer.kernel == 3 ? for_three(layer, arguments...) : for_four(layer, arguments...);
}

template <int lanes>
FilterKernels make_filter_kernels(const char* name) {
  using Three = Filter<lanes, 3>;
  using Four = Filter<lanes, 4>;
  return {name,
          by_kernel<Three::scratch, Four::scratch>,
          by_kernel<Three::gradient_scratch, Four::gradient_scratch>,
          by_kernel<Three::pack, Four::pack>,
          by_kernel<Three::pack_transposed, Four::pack_transposed>,
          by_kernel<Three::convolve, Four::convolve>,
          by_kernel<Three::gradient, Four::gradient>};
}

}  // namespace
}  // namespace cosmo::nn
