#!/bin/sh
# Make ready what `make run` and `make test` need, from a bare Debian 12 with Python 3.11, cc and make. One line a
# step; steps that are done already are skipped, each by a stamp that holds what the step was made from.
set -eu

# usage: local/setup.sh [--with-sam] [--with-linters] [--with-file-systems] [--with-cross] [--with-bench]
#                       [--with-browser]
#        local/setup.sh --only-python: needs no root, for commands that neither mount nor compile

cd "$(dirname "$0")/.."

VENV=.venv
SAM_VENV=.venv-sam
STAMPS=.local/stamps
LOG=.local/setup.log
PYTHON=${PYTHON:-python3}

# command or file that must be there : Debian package that has it
NEEDED="
cc:build-essential
make:make
pkg-config:pkg-config
curl:curl
fusermount3:fuse3
/usr/include/fuse3/fuse.h:libfuse3-dev
mkfs.ext4:e2fsprogs
losetup:mount
unshare:util-linux
strace:strace
/usr/bin/time:time
"

case " $* " in
    *" --with-bench "*) NEEDED="$NEEDED fio:fio" ;;
esac
# What runs the agent's binaries of other systems; they are tested on x86-64 only, where Debian has both.
case "$(uname -m) $* " in
    x86_64*" --with-cross "*) NEEDED="$NEEDED qemu-aarch64:qemu-user /usr/lib/wine/wine64:wine64" ;;
esac

# What looks at the page of a restore as its readers do.
case " $* " in
    *" --with-browser "*)
        NEEDED="$NEEDED chromium:chromium /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf:fonts-dejavu-core"
        ;;
esac

case " $* " in
    *" --only-python "*) NEEDED= ;;
esac

# What the agent's tests make file systems and partitions with.
case " $* " in
    *" --with-file-systems "*) NEEDED="$NEEDED mkfs.xfs:xfsprogs mkntfs:ntfs-3g sfdisk:fdisk" ;;
esac

step() {
    printf '%s\n' "$*"
}

fail() {
    printf 'setup: %s\n' "$*" >&2
    exit 1
}

# Run quietly; when it fails, show what it said.
quietly() {
    if ! "$@" >"$LOG" 2>&1; then
        cat "$LOG" >&2
        fail "this command failed: $*"
    fi
}

is_there() {
    case $1 in
        /*) [ -e "$1" ] ;;
        *) PATH="$PATH:/usr/sbin:/sbin" command -v "$1" >/dev/null 2>&1 ;;
    esac
}

missing_packages() {
    for pair in $NEEDED; do
        is_there "${pair%:*}" || printf '%s ' "${pair#*:}"
    done
    can_make_environments || printf 'python3-venv '
}

# ensurepip is what Debian's python3 lacks until python3-venv is installed.
can_make_environments() {
    "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null
}

install_packages() {
    packages=$(missing_packages)
    [ -n "$packages" ] || return 0
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        fail "these Debian packages are missing: $packages(install them, or run this as root)"
    fi
    step "Installing Debian packages: $packages"
    quietly env DEBIAN_FRONTEND=noninteractive apt-get -q update
    # shellcheck disable=SC2086  # a list of words
    quietly env DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends $packages
}

check_python() {
    command -v "$PYTHON" >/dev/null || fail "python3 is missing: install Python 3.11 or newer"
    "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "$PYTHON is $("$PYTHON" -V 2>&1); Python 3.11 or newer is needed"
}

# is_done STAMP FILES...: whether the step was done with these very files. STAMP then holds what to keep of them.
is_done() {
    stamp=$STAMPS/$1
    shift
    wanted=$(cat "$@" | sha256sum; "$PYTHON" -V)
    [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]
}

done_now() {
    printf '%s\n' "$wanted" >"$stamp"
}

# make_environment FOLDER STAMP REQUIREMENTS: a virtual environment with these packages.
make_environment() {
    is_done "$2" requirements/pip.txt "$3" && [ -x "$1/bin/python" ] && return 0
    step "Installing the packages of $3 in $1"
    [ -x "$1/bin/python" ] || quietly "$PYTHON" -m venv --clear "$1"
    for list in requirements/pip.txt "$3"; do
        quietly "$1/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes \
            --only-binary=:all: --requirement "$list"
    done
    done_now
}

install_asl_validator() {
    is_done asl-validator tests/lint/asl/package-lock.json && [ -d tests/lint/asl/node_modules ] && return 0
    step "Installing the ASL linter in tests/lint/asl"
    # Node brings certificates of its own; this machine's are what counts.
    quietly env NODE_USE_SYSTEM_CA=1 PATH="$PWD/$VENV/bin:$PATH" npm --prefix tests/lint/asl ci --no-audit --no-fund --loglevel=error
    done_now
}

# build FOLDER WHAT: make knows by itself what is out of date.
build() {
    make -q -C "$1" >/dev/null 2>&1 && return 0
    step "Building $2"
    quietly make -C "$1"
}

mkdir -p "$STAMPS"
install_packages
check_python
make_environment "$VENV" packages requirements/dev.txt
for extra in "$@"; do
    case $extra in
        --with-sam) make_environment "$SAM_VENV" sam requirements/sam.txt ;;
        --with-linters) install_asl_validator ;;
        --only-python) exit 0 ;;
        --with-bench | --with-browser | --with-cross | --with-file-systems) ;; # their packages are installed by now
        *) fail "unknown option $extra" ;;
    esac
done
build warmer "the warm-up agent"
build local/aws/first_touch "the first-touch file system"
