#!/usr/bin/env bash
# From a bare Debian 12 to the first matrices: installs what is missing, builds, makes a capture, and runs the main job
# on it. Can be run again at any time; what it makes is under trama-out/.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh
echo "building (a few minutes the first time)"
scripts/build.sh release trama
trama=build/release/trama

out=trama-out/quickstart
mkdir -p "$out"
capture=$out/first.pcap
key=$out/site.key
if [ ! -e "$capture" ]; then
  echo
  echo "+ $trama run control/graphs/capture.toml --set stages.save.file=$capture"
  rm -f "$capture.new"
  "$trama" run control/graphs/capture.toml -q --set "stages.save.file=\"$capture.new\""
  mv "$capture.new" "$capture"
fi
[ -e "$key" ] || "$trama" key new "$key"

echo
echo "+ $trama run -r $capture -w $out/matrices --key $key"
rm -rf "$out/matrices"
"$trama" run -r "$capture" -w "$out/matrices" --key "$key"

echo
echo "+ $trama inspect $out/matrices"
"$trama" inspect "$out/matrices"

archive=$(ls "$out"/matrices/*.tar | head -n 1)
cat <<TEXT

The matrices are in $archive,
what is known of each window in $archive.json.
In Python, with python-graphblas (PyPI):

    import tarfile, graphblas as gb
    with tarfile.open("$archive") as archive:
        for member in archive:
            matrix = gb.Matrix.ss.deserialize(archive.extractfile(member).read())
            print(member.name, matrix.nvals, matrix.reduce_scalar("plus"))

or with what Debian has (python3-suitesparse-graphblas, /usr/bin/python3):

    import suitesparse_graphblas as sg, tarfile
    from suitesparse_graphblas import ffi, lib
    sg.initialize()
    blob = tarfile.open("$archive").extractfile("0.grb").read()
    matrix, links = ffi.new("GrB_Matrix*"), ffi.new("GrB_Index*")
    lib.GxB_Matrix_deserialize(matrix, ffi.NULL, ffi.from_buffer(blob), len(blob), ffi.NULL)
    lib.GrB_Matrix_nvals(links, matrix[0]); print(links[0])

Next: $trama run -r YOUR.pcap, $trama run --help, and README.md.
TEXT
