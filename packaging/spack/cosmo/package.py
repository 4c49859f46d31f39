# Recipe for Spack 1.0 and later, of which no copy was at hand: not tried. Put the folder above into a repository of packages and give the
# address and checksum of a release.
from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import *


class Cosmo(CMakePackage):
    """From cosmological parameters to a trained network and back: N-body universes, datasets, 3-D CNN training, inference."""

    license("GPL-3.0-or-later")
    version("0.3.0")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("boost@1.74:+program_options")
    depends_on("eigen@3.4:", type="build")
    depends_on("fftw precision=float")
    depends_on("fmt@9:")
    depends_on("hdf5+mpi")
    depends_on("isa-l")
    depends_on("libpng")
    depends_on("mpi")
    depends_on("nlohmann-json", type="build")
    depends_on("onednn@2.6:")
    depends_on("openssl")
    depends_on("random123", type="build")
    depends_on("zlib-api")

    generator("ninja")
    requires("target=x86_64_v3:", when="target=x86_64:", msg="the kernels of networks need AVX2")

    def cmake_args(self):
        # Spack's compiler wrapper adds -march for the target.
        return [self.define("COSMO_ARCHITECTURE", ""), self.define("BUILD_TESTING", False)]
