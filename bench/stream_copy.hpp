#pragma once

namespace cosmo::bench {

/// Rate at which all threads copy 512 MiB of floats, best of several times [bytes/s]: bytes read and bytes
/// written, not what a cache reads before it writes. Source: the kernel "copy" of McCalpin's STREAM.
double stream_copy_rate();

}  // namespace cosmo::bench
