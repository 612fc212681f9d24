#!/usr/bin/env bash
# Packs the program with its libraries and Open MPI into a .tar.gz, to be measured on a machine that has neither.
#   bench/bundle.sh build/fedsinkhorn bundle/fedsinkhorn.tar.gz [build/fedsinkhorn-bench]
# Unpacked on any Linux with a C library as new as this machine's, it has fedsinkhorn, mpirun and, if given,
# fedsinkhorn-bench, which find everything else beside them. One machine only: what Open MPI needs to start processes on
# others is left out. There, with scaling.py and peers/:
#   b=fedsinkhorn-bundle; bench/scaling.py --binary $b/fedsinkhorn --mpirun $b/mpirun --bench $b/fedsinkhorn-bench \
#     --python python3 --bind core
set -euo pipefail
binary=${1:?the program to pack}
archive=${2:?the .tar.gz to write}
bench=${3:-}
plugins=$(ompi_info --parsable --path pkglibdir | cut -d: -f3)
pmix_plugins=$(dirname "$(readlink -f "$(ldd "$plugins/mca_pmix_ext3x.so" | awk '/libpmix/ {print $3}')")")/pmix

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/fedsinkhorn-bundle
mkdir -p "$root"/{bin,lib,openmpi,pmix,prefix/share} "$(dirname "$archive")"
cp "$binary" "$root/bin/fedsinkhorn"
programs=(fedsinkhorn mpirun)
if [[ $bench ]]; then
  cp "$bench" "$root/bin/fedsinkhorn-bench"
  programs+=(fedsinkhorn-bench)
fi
cp -L "$(command -v orterun)" "$root/bin/mpirun"
# Networks of clusters, their batch systems and OpenSHMEM.
unwanted='ucx|ofi|openib|psm|slurm|flux|jsm|gridengine|romio|scoll|sshmem|spml|memheap|atomic|monitoring|dbg_msgq|_rsh'
for plugin in "$plugins"/*.so; do
  [[ $plugin =~ $unwanted ]] || cp "$plugin" "$root/openmpi/"
done
for plugin in "$pmix_plugins"/*.so; do
  [[ $plugin =~ $unwanted ]] || cp "$plugin" "$root/pmix/"
done
cp -r /usr/share/openmpi "$root/prefix/share/" # the texts of its error messages

# Everything these name but the C and C++ libraries: mpirun puts the folder where all its children look for libraries,
# the shell among them, which would not start with an older C library than its own.
of_the_system='/(ld-linux-x86-64|libc|libm|libdl|librt|libpthread|libresolv|libutil|libgcc_s|libstdc\+\+)\.so'
while read -r library; do
  cp -L "$library" "$root/lib/"
done < <(ldd "$root"/bin/* "$root"/openmpi/*.so "$root"/pmix/*.so 2>/dev/null | grep -o '/[^ :]*\.so[^ :]*' |
  grep -v "^$root" | grep -Ev "$of_the_system" | sort -u)
strip --strip-unneeded "$root"/bin/* "$root"/openmpi/*.so "$root"/pmix/*.so "$root"/lib/*.so* 2>/dev/null || true

for program in "${programs[@]}"; do
  cat >"$root/$program" <<'WRAPPER'
#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
export OPAL_PREFIX="$here/prefix" PMIX_INSTALL_PREFIX="$here/prefix"
export OMPI_MCA_mca_base_component_path="$here/openmpi" PMIX_MCA_mca_base_component_path="$here/pmix"
# Containers often forbid processes to read each other's memory, and Open MPI finds out too late.
export OMPI_MCA_btl_vader_single_copy_mechanism="${OMPI_MCA_btl_vader_single_copy_mechanism:-none}"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$here/bin/$(basename "$0")" "$@"
WRAPPER
  chmod +x "$root/$program"
done
tar -C "$work" -czf "$archive" fedsinkhorn-bundle
echo "$archive: $(du -h "$archive" | cut -f1), unpacked $(du -sh "$root" | cut -f1)"
