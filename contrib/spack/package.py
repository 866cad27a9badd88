"""Spack's recipe of jobprof; in a repository of one's own as
packages/jobprof/package.py. The source is the release's tarball."""

import os

from spack.package import *


class Jobprof(AutotoolsPackage):
    """Job-level profiles of NCCL communication and file loading for Slurm: a SPANK
    module, an NCCL profiler plugin, and the reports of profiled steps."""

    # the tarball of "make dist" lies beside this file, where only who may change the
    # recipe can put it; or a git clone by "spack develop jobprof@0.2.0"
    url = "file://" + os.path.join(os.path.dirname(__file__), "jobprof-0.2.0.tar.xz")

    license("Apache-2.0")

    version("0.2.0")

    variant("slurm", default=True, description="The module for srun, and job facts from libslurm")
    variant("nsys", default=True, description="Read exports of Nsight Systems (SQLite)")
    variant("zstd", default=True, description="Compress Parquet files by zstd, not by gzip only")
    variant("upload", default=True, description="jobprof upload: reports into Elasticsearch")
    variant("isal", default=False, description="Read .gz in a third of the time")

    depends_on("c", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("libconfig@1.5:")
    depends_on("hwloc@2.1:")
    depends_on("jansson@2.10:")
    depends_on("zlib-api")
    depends_on("slurm", when="+slurm")
    depends_on("sqlite@3.16:", when="+nsys")
    depends_on("zstd@1.3:", when="+zstd")
    depends_on("curl@7.61:", when="+upload")
    depends_on("isa-l@2.30:", when="+isal")

    def configure_args(self):
        args = self.with_or_without("sqlite", variant="nsys")
        args += self.with_or_without("zstd", variant="zstd")
        args += self.with_or_without("curl", variant="upload")
        args += self.with_or_without("isal", variant="isal")
        if self.spec.satisfies("+slurm"):
            args.append("--with-slurm={0}".format(self.spec["slurm"].prefix))
        else:
            args.append("--without-slurm")
        args.append("--sysconfdir=/etc")
        return args

    def install(self, spec, prefix):
        # the settings in /etc are the site's; Spack writes into its prefix only
        make("install", "jobprof_sysconfdir={0}/etc/jobprof".format(prefix))
