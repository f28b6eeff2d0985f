#!/usr/bin/env bash
# From a bare Debian 12 to the first matrices: installs what is missing, builds, makes a capture, and runs the main job
# on it. Can be run again at any time; what it makes is under trama-out/.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh
echo "building (a few minutes the first time)"
TRAMA_BUILD=${TRAMA_BUILD:-build/release}
cmake --preset release -DTRAMA_TESTS=OFF -DTRAMA_BENCHMARKS=OFF >/dev/null
cmake --build build/release --target trama
trama=$TRAMA_BUILD/trama

out=trama-out/quickstart
mkdir -p "$out"
capture=$out/first.pcap
key=$out/site.key
if [ ! -e "$capture" ]; then
  echo
  echo "+ $trama run control/graphs/capture.toml --set stages.save.file=$capture"
  "$trama" run control/graphs/capture.toml -q --set "stages.save.file=\"$capture\""
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
In Python (Debian's python3-suitesparse-graphblas and /usr/bin/python3, or python-graphblas from PyPI):

    import tarfile, graphblas as gb
    with tarfile.open("$archive") as archive:
        for member in archive:
            matrix = gb.Matrix.ss.deserialize(archive.extractfile(member).read())
            print(member.name, matrix.nvals, matrix.reduce_scalar("plus"))

Next: $trama run -r YOUR.pcap, $trama run --help, and README.md.
TEXT
