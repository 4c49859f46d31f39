#pragma once

#include <cstddef>

namespace cosmo::bench {

/// Rate at which all threads copy this number of bytes of floats, the best of several runs [bytes/s]. It
/// counts bytes read and written, but not what a cache reads before a write. Source: the kernel "copy" of
/// McCalpin's STREAM.
double stream_copy_rate(std::size_t bytes);

}  // namespace cosmo::bench
