#pragma once

#include <cstddef>

namespace cosmo::bench {

/// Rate at which all threads copy so many bytes of floats, best of several times [bytes/s]: bytes read and
/// bytes written, not what a cache reads before it writes. Source: the kernel "copy" of McCalpin's STREAM.
double stream_copy_rate(std::size_t bytes);

}  // namespace cosmo::bench
