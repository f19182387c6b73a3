#!/bin/sh
# The tests marked `browser` drive a Chromium; where there is none, they are skipped. Install Debian's if we may.
for name in chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null 2>&1 && exit 0
done
[ -n "$PHISTAR_CHROMIUM" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "Installing chromium, for the tests in a browser ..."
  { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q chromium; } >/dev/null 2>&1 && exit 0
fi
echo "There is no Chromium here: the tests in a browser will be skipped. 'apt install chromium' gives one (as root),"
echo "or set PHISTAR_CHROMIUM to the path of another."
