#pragma once

#include <cstddef>
#include <functional>

namespace cosmo::core {

/// The number of OpenMP threads of this rank.
int thread_count();
/// Lets this rank use no more than these from now on.
void limit_threads(int most);

/// Runs work(i, thread) for i = 0 … size-1 on the threads of this rank, in any order. If it throws, the
/// failure of the lowest i is thrown, whatever the number of threads; items after it may be skipped.
void in_threads(std::size_t size, const std::function<void(std::size_t, std::size_t)>& work);

/// The same, and after work(i) runs then(i, thread) on the same thread: for one i at a time, in ascending
/// order, while other threads work on the following items.
void in_threads(std::size_t size, const std::function<void(std::size_t, std::size_t)>& work,
                const std::function<void(std::size_t, std::size_t)>& then);

}  // namespace cosmo::core
