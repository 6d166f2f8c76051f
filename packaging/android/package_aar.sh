#!/usr/bin/env bash
# Lays out libquant.aar (Gradle, with Prefab metadata for externalNativeBuild) from installed libraries, one an ABI.
# Usage: packaging/android/package_aar.sh OUT.aar ABI=PREFIX…
#   e.g. ANDROID_NDK=… tools/build_device_tools.sh
#        packaging/android/package_aar.sh libquant.aar arm64-v8a=build/device/arm64-v8a x86_64=build/device/x86_64
# PREFIX has include/libquant/*.h* and lib/libquant.so. Needs cmake and readelf.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
version=$(sed -n 's/^project(libquant VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
out=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
module=$work/prefab/modules/quant
mkdir -p "$module/include" "$work/META-INF"
cp "$root/LICENSE" "$work/META-INF/LICENSE"
cat >"$work/AndroidManifest.xml" <<XML
<?xml version="1.0" encoding="utf-8"?>
<manifest xmlns:android="http://schemas.android.com/apk/res/android" package="org.libquant" android:versionName="$version">
  <uses-sdk android:minSdkVersion="24" />
</manifest>
XML
printf '{"schema_version": 2, "name": "libquant", "version": "%s", "dependencies": []}\n' "$version" >"$work/prefab/prefab.json"
printf '{"export_libraries": [], "library_name": "libquant"}\n' >"$module/module.json"
for pair in "$@"; do
  abi=${pair%%=*} prefix=${pair#*=}
  case "$abi" in
    arm64-v8a|armeabi-v7a|x86|x86_64) ;;
    *) echo "package_aar.sh: '$abi' is not an Android ABI" >&2; exit 2 ;;
  esac
  library=$(find "$prefix" -name 'libquant.so*' -type f | head -n 1)
  [ -n "$library" ] || { echo "package_aar.sh: $prefix has no libquant.so" >&2; exit 1; }
  # Pages of 16 KB (Android 15): Play refuses 64-bit libraries whose segments are not aligned to them.
  for alignment in $(readelf -lW "$library" | awk '$1 == "LOAD" { print $NF }'); do
    if [ $((alignment)) -lt 16384 ]; then
      echo "package_aar.sh: $library is not aligned to pages of 16 KB" >&2
      exit 1
    fi
  done
  mkdir -p "$work/jni/$abi" "$module/libs/android.$abi"
  cp "$library" "$work/jni/$abi/libquant.so"
  cp "$library" "$module/libs/android.$abi/libquant.so"
  # stl none: the C++ library is linked in and hidden, the interface is C.
  printf '{"abi": "%s", "api": 24, "ndk": 26, "stl": "none", "static": false}\n' "$abi" >"$module/libs/android.$abi/abi.json"
  cp -r "$prefix/include/libquant" "$module/include/"
done
# An AAR must have a classes.jar; there is no Java in this one.
mkdir -p "$work/jar/META-INF"
printf 'Manifest-Version: 1.0\n' >"$work/jar/META-INF/MANIFEST.MF"
(cd "$work/jar" && cmake -E tar cf ../classes.jar --format=zip META-INF)
rm -rf "$work/jar"
rm -f "$out"
out=$(cd "$(dirname "$out")" && pwd)/$(basename "$out")
(cd "$work" && cmake -E tar cf "$out" --format=zip *)
echo "$out" >&2
