#include "tests/nn/kernel/filtered_problem.hpp"

namespace cosmo::test {

namespace {

FilteredConvolution cube(std::int64_t images, std::int64_t inputs, std::int64_t outputs, std::int64_t kernel,
                         const nn::Axis& axis) {
  return {images, inputs, outputs, kernel, axis, axis};
}

}  // namespace

// Several images, odd numbers of blocks, incomplete tiles, every padding, periodic volumes, rows in several parts
// of different lengths; slabs, thinner and thicker than wide, with other padding along their depth.
const std::vector<FilteredConvolution> kLayers = {cube(2, 16, 32, 3, {9, 1}),
                                                  cube(1, 32, 16, 4, {11, 0}),
                                                  cube(1, 48, 16, 4, {7, 2}),
                                                  cube(2, 16, 48, 3, {8, 0}),
                                                  cube(1, 32, 32, 3, {10, 2}),
                                                  cube(1, 16, 16, 4, {6, 3}),
                                                  cube(1, 16, 16, 4, {25, 1}),
                                                  cube(2, 16, 32, 3, {7, 1, true}),
                                                  cube(1, 32, 16, 3, {12, 1, true}),
                                                  cube(1, 16, 32, 3, {3, 1, true}),
                                                  {1, 16, 32, 4, {14, 0}, {63, 0}},
                                                  {1, 16, 32, 3, {9, 1}, {66, 1}},
                                                  {1, 16, 16, 3, {13, 1}, {51, 1}},
                                                  {2, 16, 32, 3, {5, 0}, {9, 1}},
                                                  {1, 32, 16, 4, {7, 0}, {14, 0}},
                                                  {1, 16, 16, 4, {19, 3}, {8, 1}},
                                                  {2, 16, 16, 3, {7, 0}, {12, 1, true}},
                                                  {1, 16, 32, 3, {9, 0}, {55, 1}}};

/// The kernels for this CPU, and those of both widths with the instructions that this file is compiled for.
const std::vector<std::pair<std::int64_t, FilterKernels>> kKernels = {
    {nn::kernels().block, nn::kernels().filter},
    {8, nn::make_filter_kernels<8>("8")},
    {16, nn::make_filter_kernels<16>("16")}};

}  // namespace cosmo::test
