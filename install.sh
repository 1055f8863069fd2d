#!/bin/sh
# Installs a release of Homeport: sh install.sh https://where/the/release/is
# It takes the executable for this machine, checks its SHA-256, and puts it to /usr/local/bin (or $PREFIX).
set -eu

base=${1:?"usage: sh install.sh <URL of the folder of a release>"}
base=${base%/}
prefix=${PREFIX:-/usr/local/bin}

case "$(uname -s) $(uname -m)" in
  'Linux x86_64') platform=linux-x64 ;;
  'Linux aarch64') platform=linux-arm64 ;;
  'Darwin arm64') platform=macos-arm64 ;;
  *) echo "There is no release for $(uname -s) on $(uname -m)." >&2; exit 1 ;;
esac
if [ "$(uname -s)" = Linux ] && ldd --version 2>&1 | grep -qi musl; then platform=$platform-musl; fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
curl -fsSL -o "$folder/SHA256SUMS" "$base/SHA256SUMS"
line=$(grep -E "  homeport-[^ ]*-$platform\$" "$folder/SHA256SUMS" || true)
if [ -z "$line" ]; then echo "The release has nothing for $platform." >&2; exit 1; fi
file=${line##* }
curl -fL -o "$folder/$file" "$base/$file"

cd "$folder"
if command -v sha256sum >/dev/null; then check='sha256sum -c -'; else check='shasum -a 256 -c -'; fi
if ! echo "$line" | $check >/dev/null 2>&1; then
  echo "$file is not what SHA256SUMS says: nothing was installed." >&2
  exit 1
fi
chmod 755 "$file"
mv "$file" "$prefix/homeport"
"$prefix/homeport" version
