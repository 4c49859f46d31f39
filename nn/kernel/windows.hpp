#pragma once
// Windows of 2³ cells that pools make one value of.

#include "nn/kernel/floats.hpp"

namespace cosmo::nn {

namespace {  // each file that includes this has its own copy, for its own instruction set

constexpr int kWindowCells = 8;

/// The average of a window's values after their leaky ReLU, and where they are positive.
template <int lanes>
[[gnu::always_inline]] inline Floats<lanes> average(const Floats<lanes> (&values)[kWindowCells], float slope,
                                                    Lanes<lanes> (&positive)[kWindowCells]) {
  Floats<lanes> total = {};
  unrolled<kWindowCells>([&](auto i) __attribute__((always_inline)) {
    positive[i] = above<lanes>(values[i], Floats<lanes>{});
    total += values[i] > 0 ? values[i] : slope * values[i];
  });
  return total * (1.0f / kWindowCells);
}

/// The leaky ReLU of a window's maximum, and where it is: at the first of equal values.
template <int lanes>
[[gnu::always_inline]] inline Floats<lanes> maximum(const Floats<lanes> (&values)[kWindowCells], float slope,
                                                    Lanes<lanes> (&first)[kWindowCells]) {
  Floats<lanes> most = values[0];
  Lanes<lanes> higher[kWindowCells];
  unrolled<kWindowCells>([&](auto i) __attribute__((always_inline)) {
    higher[i] = above<lanes>(values[i], most);
    most = values[i] > most ? values[i] : most;
  });
  unsigned open = (1u << lanes) - 1;  // lanes whose maximum is at i or before
  for (int i = kWindowCells - 1; i > 0; --i) {
    first[i] = static_cast<Lanes<lanes>>(higher[i] & open);
    open &= ~static_cast<unsigned>(higher[i]);
  }
  first[0] = static_cast<Lanes<lanes>>(open);
  return most > 0 ? most : slope * most;
}

}  // namespace
}  // namespace cosmo::nn
