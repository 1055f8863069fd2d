#!/bin/sh
# Installs a release of Homeport: sh install.sh <https URL of a release folder>
# It checks that the release key signed SHA256SUMS, downloads the executable for this machine, checks its SHA-256, and
# installs it to /usr/local/bin (or $PREFIX). It runs no downloaded file before these checks pass.
set -eu

# "bun run release" writes the public key here.
key=${RELEASE_PUBLIC_KEY:-}

base=${1:?"usage: sh install.sh <https URL of a release folder>"}
base=${base%/}
prefix=${PREFIX:-/usr/local/bin}

refuse() { echo "$1 Nothing was installed." >&2; exit 1; }
fetch() { curl -fsSL --proto '=https' --tlsv1.2 -o "$folder/$1" "$base/$1" || refuse "$base/$1 cannot be downloaded."; }

case "$base" in https://*) ;; *) refuse "A release is downloaded over https:// only." ;; esac
if [ -z "$key" ]; then
  refuse "This script contains no release key: set RELEASE_PUBLIC_KEY to the publisher's key."
fi
if [ -e "$prefix/homeport" ]; then
  refuse "$prefix/homeport already exists: run \"homeport upgrade\", or remove it first."
fi
case "$(uname -s) $(uname -m)" in
  'Linux x86_64') platform=linux-x64 ;;
  'Linux aarch64') platform=linux-arm64 ;;
  'Darwin arm64') platform=macos-arm64 ;;
  *) refuse "There is no release for $(uname -s) on $(uname -m)." ;;
esac
if [ "$(uname -s)" = Linux ] && ldd --version 2>&1 | grep -qi musl; then platform=$platform-musl; fi

missing=
for tool in curl openssl; do command -v "$tool" >/dev/null || missing="${missing:+$missing and }$tool"; done
if command -v sha256sum >/dev/null; then check='sha256sum -c -'
elif command -v shasum >/dev/null; then check='shasum -a 256 -c -'
else missing="${missing:+$missing and }sha256sum"; fi
if [ -n "$missing" ]; then refuse "The script needs $missing, which it cannot find."; fi
if [ ! -d "$prefix" ] || [ ! -w "$prefix" ]; then
  refuse "The script cannot write to $prefix: run it as root, or set PREFIX to a directory of your own."
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# After a signal, dash runs the EXIT trap only if the signal is trapped too.
trap 'exit 130' HUP INT TERM
fetch SHA256SUMS
fetch SHA256SUMS.sig
printf -- '-----BEGIN PUBLIC KEY-----\n%s\n-----END PUBLIC KEY-----\n' "$key" >"$folder/key.pem"
checked=$(openssl pkeyutl -verify -pubin -inkey "$folder/key.pem" -rawin -in "$folder/SHA256SUMS" \
  -sigfile "$folder/SHA256SUMS.sig" 2>&1) || true
case "$checked" in
  *'Verified Successfully'*) ;;
  *) refuse "SHA256SUMS is not signed by the release key, or openssl is older than version 3: $checked" ;;
esac
line=$(grep -E "  homeport-[^ ]*-$platform\$" "$folder/SHA256SUMS" || true)
if [ -z "$line" ]; then refuse "The release has no executable for $platform."; fi
file=${line##* }
fetch "$file"

if ! (cd "$folder" && echo "$line" | $check >/dev/null 2>&1); then refuse "$file does not match SHA256SUMS."; fi
# Copied, because SELinux labels files created in /tmp so that systemd may not run them; then renamed, so that an
# interruption leaves no partial file under the final name.
new="$prefix/.homeport.$$"
trap 'rm -rf "$folder" "$new"' EXIT
cp "$folder/$file" "$new"
chmod 755 "$new"
version=$("$new" version) || refuse "$file does not run on this machine."
mv "$new" "$prefix/homeport"
echo "$version"
