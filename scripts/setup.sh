# Sourced by `serve`, `test` and `bench`: goes to the repository root and makes .venv what uv.lock says.
# shellcheck shell=sh
#
# sync_environment NAME OPTION…   runs `uv sync` with these options, unless NAME is up to date

set -eu
cd -- "$(dirname -- "$0")/.."

sync_environment() {
    stamp=.venv/synced-$1
    shift
    wanted=$(pwd; cksum pyproject.toml uv.lock)
    if [ -x .venv/bin/oda ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
        return
    fi
    python=$(find_python)
    uv=$(find_uv "$python")
    echo "Preparing .venv …" >&2
    UV_PROJECT_ENVIRONMENT=.venv "$uv" sync --quiet --frozen --all-extras --compile-bytecode \
        --python "$python" --no-python-downloads "$@"
    printf '%s\n' "$wanted" >"$stamp"
}

# The Python of .venv if there is one, so that it is kept, else the first that is new enough.
find_python() {
    for candidate in .venv/bin/python python3 python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    echo "error: Python 3.11 or newer is needed (install it as python3 or python3.11)" >&2
    return 1
}

# uv of the machine, or one of our own beside .venv.
find_uv() {
    if command -v uv; then
        return
    fi
    if [ ! -x .venv-tools/bin/uv ]; then
        echo "Installing uv into .venv-tools …" >&2
        if ! "$1" -m venv .venv-tools >&2; then
            echo "error: $1 cannot make a virtual environment (install python3-venv, or uv)" >&2
            return 1
        fi
        echo '*' >.venv-tools/.gitignore
        .venv-tools/bin/python -m pip install --quiet --disable-pip-version-check uv >&2
    fi
    echo .venv-tools/bin/uv
}
