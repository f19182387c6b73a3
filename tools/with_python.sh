# Runs its arguments with the first Python on this machine that phistar supports (PYTHON names one to try first).
supported='import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))'
for python in "${PYTHON:-python3}" python3 python3.13 python3.12 python3.11; do
    if "$python" -c "$supported" >/dev/null 2>&1; then
        exec "$python" "$@"
    fi
done
echo "phistar needs Python 3.11, 3.12 or 3.13 and found none: install one, or name it, as in 'make run PYTHON=/path/to/python3.12'." >&2
exit 1
