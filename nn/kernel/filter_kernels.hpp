#pragma once
// The kernels of filtered convolutions, for vectors of any width. Each width is compiled
// in a file of its own, for the instruction set that has it.

#include <omp.h>

#include <algorithm>
#include <cstdint>

#include "nn/kernel/filter_products.hpp"
#include "nn/kernel/filter_runs.hpp"
#include "nn/kernel/filter_weights.hpp"

namespace cosmo::nn {
namespace {  // each file that includes this has its own copy, for its own instruction set

/// The kernels for vectors of `lanes` floats, which are also the blocks of channels, and kernels of `kernel`³
/// cells.
template <int lanes, int kernel>
struct Filter {
  using V = Floats<lanes>;
  using Weights = FilterWeights<lanes, kernel>;
  static constexpr int kStep = kTile + 1 - kernel;

  /// The runs of a phase. Each tile's points are written and read once, and each run reads all transformed weights
  /// or reads and writes their sums: where weights are many, runs are so long that the latter are two thirds of the
  /// floats that move, and half of them in the gradient. Otherwise they are short, so that points and weights stay in
  /// the second-level cache, but long enough for full registers.
  static TileRuns runs_of(const FilteredConvolution& layer, std::int64_t weight_passes, bool grouped) {
    const std::int64_t points = kPlanePoints * 2 * (kTile * layer.inputs + kStep * layer.outputs);
    const std::int64_t fewest = lanes == 8 ? 12 : Weights::vectors(layer.outputs) == 2 ? 16 : 28;
    return {layer, std::clamp<std::int64_t>(weight_passes * layer.packed() / (2 * points), fewest, kMost),
            grouped};
  }
  static constexpr std::int64_t kForwardPasses = 1, kGradientPasses = 4;
  static constexpr std::int64_t kMost = 64;
  /// Cells along x that `tiles` tiles see.
  static std::int64_t seen(std::int64_t tiles) { return (tiles - 1) * kStep + kTile; }

  /// Whether the runs of a target are grouped: tiles of three outputs cut windows of two.
  static bool is_grouped(const FilterTarget& target) {
    return target.pooling != Pooling::none && kStep % 2 != 0;
  }
  /// Groups: their rows of windows along z and y, their windows along x for `tiles` tiles, and [floats] the sums of
  /// `length` windows along x.
  static constexpr std::int64_t kWindowRows = kStep;
  static std::int64_t window_length(std::int64_t tiles) { return (tiles * kStep + 1) / 2; }
  static std::int64_t window_sums(const FilteredConvolution& layer, std::int64_t length) {
    return kWindowRows * kWindowRows * length * layer.outputs;
  }

  /// [floats] Scratch space of one thread that works on `outputs` outputs.
  static std::int64_t run_scratch(const FilteredConvolution& layer, const TileRuns& runs,
                                  std::int64_t outputs) {
    const std::int64_t rows = runs.rows(), length = runs.length();
    return PointArray::size(layer.inputs, rows, seen(length)) +
           PointArray::size(outputs, rows, kStep * length) + kTile * rows * length * (layer.inputs + outputs);
  }
  /// The same for convolve(), with sums over windows.
  static std::int64_t convolve_scratch(const FilteredConvolution& layer, bool grouped) {
    const TileRuns runs = runs_of(layer, kForwardPasses, grouped);
    return run_scratch(layer, runs, layer.outputs) +
           (grouped ? window_sums(layer, window_length(runs.length())) : 0);
  }
  static std::int64_t scratch(const FilteredConvolution& layer) {
    return omp_get_max_threads() * std::max(convolve_scratch(layer, false), convolve_scratch(layer, true));
  }
  static std::int64_t gradient_scratch(const FilteredConvolution& layer) {
    return parts_of(layer) * (layer.packed() + layer.outputs) +
           omp_get_max_threads() *
               run_scratch(layer, runs_of(layer, kGradientPasses, false), slice_of(layer));
  }

  /// Transforms the input of a run along z and y.
  static void read_run(const FilteredConvolution& layer, const TileRuns& runs, const TileRun& run,
                       const FilterSource& input, const PointArray& points) {
    for (std::int64_t in = 0; in < layer.inputs / lanes; ++in) {
      with_cells<lanes>(input, run.image, layer.inputs, in, layer.depth, layer.side, [&](const auto& cells) {
        for (std::int64_t row = 0; row < run.rows(); ++row)
          read_cells<lanes, AsCells, false>(cells, runs.corner_seen(layer, run, run.row + row),
                                            points.row(in, row), nullptr);
      });
    }
  }
  /// Transforms the cells of all tiles of a run along x, at one point: to (point x, block, tile, lanes).
  static void transform_tiles(const FilteredConvolution& layer, const TileRun& run, const PointArray& cells,
                              std::int64_t point, float* lines) {
    const std::int64_t size = run.count() * layer.inputs;
    for_tiles<lanes>(
        cells, layer.inputs / lanes, point, run.length(), kStep,
        lines, [size](const float* from, float* to) __attribute__((always_inline)) {
          V tile[kTile], products[kTile];
          unrolled<kTile>([&](auto x)
                              __attribute__((always_inline)) { tile[x] = load_as<V>(from + x * lanes); });
          transform_cells(tile, products);
          unrolled<kTile>([&](auto x)
                              __attribute__((always_inline)) { store_from(to + x * size, products[x]); });
        });
  }

  /// Computes the outputs of a run, transformed along x, in scratch space.
  static PointArray convolve_run(const FilteredConvolution& layer, const TileRuns& runs, const TileRun& run,
                                 const FilterSource& input, const float* packed, float* scratch) {
    const PointArray cells(scratch, layer.inputs, run.rows(), seen(run.length()), lanes),
        sums(scratch, layer.outputs, run.rows(), kStep * run.length(), lanes);
    const std::int64_t tiles = run.count(), width = Weights::vectors(layer.outputs) * lanes,
                       length = run.length();
    const std::int64_t cell_floats = tiles * layer.inputs, sum_floats = tiles * layer.outputs;
    const auto multiply_group = width == lanes ? multiply<lanes, 1> : multiply<lanes, 2>;
    float* const lines = scratch;  // of one point (z, y): (point x, block, tile, lanes)
    float* const products = lines + kTile * cell_floats;
    read_run(layer, runs, run, input, cells);
    for (std::int64_t point = 0; point < kPlanePoints; ++point) {
      transform_tiles(layer, run, cells, point, lines);
      for (int x = 0; x < kTile; ++x) {
        for (std::int64_t out = 0; out < layer.outputs; out += width, packed += layer.inputs * width) {
          multiply_group(tiles, layer.inputs / lanes, lines + x * cell_floats, packed,
                         products + x * sum_floats + out * tiles);
        }
      }
      for_tiles<lanes>(
          sums, layer.outputs / lanes, point, length, kStep,
          products, [sum_floats](float* to, const float* from) __attribute__((always_inline)) {
            V line[kTile], values[kStep];
            unrolled<kTile>([&](auto x) __attribute__((always_inline)) {
              line[x] = load_as<V>(from + x * sum_floats);
            });
            transform_products<kStep>(line, values);
            unrolled<kStep>([&](auto x)
                                __attribute__((always_inline)) { store_from(to + x * lanes, values[x]); });
          });
    }
    return sums;
  }

  static Finish<lanes> finish_of(const FilterTarget& output, std::int64_t block) {
    return {output.biases == nullptr ? V{} : load_as<V>(output.biases + block * lanes), output.slope};
  }

  /// Writes the outputs of a run.
  static void write_run(const FilteredConvolution& layer, const TileRuns& runs, const TileRun& run,
                        const PointArray& sums, const FilterTarget& output) {
    for (std::int64_t out = 0; out < layer.outputs / lanes; ++out) {
      with_cells<lanes>(output, run.image, layer.outputs, out, layer.output_depth(), layer.output_side(),
                        [&](const auto& cells) {
                          for (std::int64_t row = 0; row < run.rows(); ++row)
                            write_cells<lanes, kStep>(sums.row(out, row), finish_of(output, out), cells,
                                                      runs.corner(run, run.row + row));
                        });
    }
  }

  /// Calls function(target, finish, block) for each block of channels of a pool.
  template <class Function>
  static void with_pools(const FilteredConvolution& layer, std::int64_t image, const FilterTarget& output,
                         const Function& function) {
    const std::int64_t depth = layer.output_depth(), side = layer.output_side(),
                       blocks = layer.outputs / lanes;
    for (std::int64_t out = 0; out < blocks; ++out) {
      with_cells<lanes>(
          output, image, layer.outputs, out, depth / 2, side / 2,
          [&]<class Number>(const Cells<lanes, Number>& pooled) {
            auto* const bits = static_cast<Lanes<lanes>*>(output.bits);
            const std::int64_t first = (image * blocks + out) * layer.output_cells();
            function(
                PooledTarget<lanes, Number>{pooled, bits == nullptr ? nullptr : bits + first, depth, side},
                finish_of(output, out), out);
          });
    }
  }

  /// Writes the windows of a run whose tiles have whole ones.
  static void write_pool(const FilteredConvolution& layer, const TileRuns& runs, const TileRun& run,
                         const PointArray& sums, const FilterTarget& output) {
    if constexpr (kStep % 2 == 0) {
      with_pools(layer, run.image, output,
                 [&](const auto& target, const Finish<lanes>& finish, std::int64_t out) {
                   for (std::int64_t row = 0; row < run.rows(); ++row) {
                     const Corner corner = runs.corner(run, run.row + row);
                     if (output.pooling == Pooling::maximum)
                       write_windows<lanes, kStep, true>(sums.row(out, row), finish, target, corner);
                     else
                       write_windows<lanes, kStep, false>(sums.row(out, row), finish, target, corner);
                   }
                 });
    }
  }

  /// Computes and writes the averages over windows of the outputs of a task whose tiles have parts of them.
  static void average_task(const FilteredConvolution& layer, const TileRuns& runs, std::int64_t task,
                           const FilterSource& input, const float* packed, const FilterTarget& output,
                           float* scratch) {
    const TileRun begin = runs.run(task, 0);
    const Corner first = runs.corner(begin, begin.row);
    const std::int64_t length = window_length(begin.length());  // the next task's windows follow
    const auto sums_of = [&](std::int64_t out) {
      return WindowSums{scratch + out * kWindowRows * kWindowRows * length * lanes, kWindowRows, length};
    };
    std::fill_n(scratch, window_sums(layer, length), 0.0f);
    for (std::int64_t piece = 0; piece < runs.pieces(); ++piece) {
      const TileRun run = runs.run(task, piece);
      if (run.rows() == 0) continue;
      float* next = scratch + window_sums(layer, window_length(runs.length()));
      const PointArray sums = convolve_run(layer, runs, run, input, packed, next);
      with_pools(layer, run.image, output,
                 [&](const auto& target, const Finish<lanes>& finish, std::int64_t out) {
                   add_to_windows<lanes, kStep>(sums.row(out, 0), finish, target, sums_of(out),
                                                runs.corner(run, run.row), first);
                 });
    }
    with_pools(layer, begin.image, output, [&](const auto& target, const Finish<lanes>&, std::int64_t out) {
      write_sums<lanes>(sums_of(out), target.pooled, first);
    });
  }

  /// Computes and writes the outputs of a task.
  static void convolve_task(const FilteredConvolution& layer, const TileRuns& runs, std::int64_t task,
                            const FilterSource& input, const float* packed, const FilterTarget& output,
                            float* scratch) {
    if (runs.pieces() > 1) return average_task(layer, runs, task, input, packed, output, scratch);
    const TileRun run = runs.run(task, 0);
    const PointArray sums = convolve_run(layer, runs, run, input, packed, scratch);
    if (output.pooling == Pooling::none)
      write_run(layer, runs, run, sums, output);
    else
      write_pool(layer, runs, run, sums, output);
  }

  static void convolve(const FilteredConvolution& layer, const FilterSource& input, const float* packed,
                       const FilterTarget& output, float* scratch) {
    const bool grouped = is_grouped(output);
    const TileRuns runs = runs_of(layer, kForwardPasses, grouped);
    const std::int64_t own = convolve_scratch(layer, grouped);
    const std::int64_t grain = std::max<std::int64_t>(1, runs.size() / 64);  // neighbours share input
#pragma omp parallel for schedule(dynamic, grain)
    for (std::int64_t i = 0; i < runs.size(); ++i) {
      convolve_task(layer, runs, i, input, packed, output, scratch + omp_get_thread_num() * own);
      end_streams();
    }
  }

  /// Adds the contribution of a run to the sums of outputs `first` to `end`: (point, z, input, output), then
  /// (output) of the biases.
  static void add_run(const FilteredConvolution& layer, const TileRuns& runs, const TileRun& run,
                      std::int64_t first, std::int64_t end, const FilterSource& input,
                      const FilterSource& d_output, float* sums, float* scratch) {
    const std::int64_t tiles = run.count(), outputs = end - first, length = run.length();
    const std::int64_t cell_floats = tiles * layer.inputs, gradient_floats = tiles * outputs;
    const auto add_products = Weights::vectors(outputs) == 2 ? add_outer<lanes, 2> : add_outer<lanes, 1>;
    const PointArray cells(scratch, layer.inputs, run.rows(), seen(length), lanes),
        gradients(scratch, outputs, run.rows(), kStep * length, lanes);
    float* const cell_lines = scratch;  // of one point (z, y): (point x, block, tile, lanes)
    float* const gradient_lines = cell_lines + kTile * cell_floats;
    read_run(layer, runs, run, input, cells);
    for (std::int64_t out = 0; out < outputs / lanes; ++out) {
      with_cells<lanes>(d_output, run.image, layer.outputs, first / lanes + out, {layer.output_depth()},
                        {layer.output_side()}, [&](const auto& block) {
                          for (std::int64_t row = 0; row < run.rows(); ++row)
                            read_cells<lanes, AsFilter<kStep>, true>(
                                block, runs.corner(run, run.row + row), gradients.row(out, row),
                                sums + layer.packed() + first + out * lanes);
                        });
    }
    sums += first;
    for (std::int64_t point = 0; point < kPlanePoints; ++point) {
      transform_tiles(layer, run, cells, point, cell_lines);
      for_tiles<lanes>(
          gradients, outputs / lanes, point, length, kStep,
          gradient_lines, [gradient_floats](const float* from, float* to) __attribute__((always_inline)) {
            V tile[kStep], products[kTile];
            unrolled<kStep>([&](auto x)
                                __attribute__((always_inline)) { tile[x] = load_as<V>(from + x * lanes); });
            transform_filter<kStep>(tile, products);
            unrolled<kTile>([&](auto x) __attribute__((always_inline)) {
              store_from(to + x * gradient_floats, products[x]);
            });
          });
      for (int x = 0; x < kTile; ++x, sums += layer.inputs * layer.outputs) {
        add_products(tiles, layer.inputs / lanes, outputs / lanes, cell_lines + x * cell_floats,
                     gradient_lines + x * gradient_floats, sums, layer.outputs);
      }
    }
  }

  /// Number of parts of the volume in which sums are made, for any number of threads, before the parts are
  /// summed. It is smaller for more weights, because a part takes their memory and costs as much as the products of
  /// some 24 tiles.
  static std::int64_t parts_of(const FilteredConvolution& layer) {
    constexpr std::int64_t kMany = 1 << 18, kTooMany = 1 << 22;
    return layer.packed() > kTooMany ? 1 : layer.packed() > kMany ? 2 : 8;
  }
  /// Outputs that a thread sums within a part: where there are few parts, slices of them.
  static std::int64_t slice_of(const FilteredConvolution& layer) {
    constexpr std::int64_t kSlice = 32;
    return parts_of(layer) < 8 && layer.outputs % kSlice == 0 ? kSlice : layer.outputs;
  }

  static void gradient(const FilteredConvolution& layer, const FilterSource& input,
                       const FilterSource& d_output, float* d_weights, float* d_biases, float* scratch) {
    const TileRuns runs = runs_of(layer, kGradientPasses, false);
    const std::int64_t own = run_scratch(layer, runs, slice_of(layer));
    const std::int64_t parts = parts_of(layer), width = slice_of(layer), slices = layer.outputs / width;
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
          add_run(layer, runs, runs.run(i, 0), first, first + width, input, d_output, scratch + part * size,
                  own_scratch);
        }
      }
#pragma omp for schedule(static)
      for (std::int64_t i = 0; i < layer.inputs * blocks; ++i)
        Weights::finish_gradient(layer, scratch, parts, i / blocks, i % blocks * lanes, d_weights);
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
          by_kernel<Three::Weights::pack, Four::Weights::pack>,
          by_kernel<Three::Weights::pack_transposed, Four::Weights::pack_transposed>,
          by_kernel<Three::convolve, Four::convolve>,
          by_kernel<Three::gradient, Four::gradient>};
}

}  // namespace
}  // namespace cosmo::nn
