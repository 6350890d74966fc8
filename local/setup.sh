#!/bin/sh
# Make ready what a make target needs, from a bare Debian 12 with Python 3.11 and make. Each step is a line with its
# seconds. A step that is done is skipped: a stamp in the folder that it made holds what the folder was made from.
set -eu

# usage: local/setup.sh cli       for `make plan` and ./rewarm: Python packages only, no root needed
#        local/setup.sh undeploy  for `make undeploy`: SAM's command line too, no root needed
#        local/setup.sh deploy    for `make build` and `make deploy`: SAM and the agent's compiler, no root needed
#        local/setup.sh release   for `make release`: SAM's translator and the bill of materials, no root needed
#        local/setup.sh soak      for `make soak`: the Python packages of the embedded AWS too, no root needed
#        local/setup.sh run       for `make run` and `make scale`: what mounts and compiles, too
#        local/setup.sh bench     for `make bench` and `make measurements`: fio, time and databases, too
#        local/setup.sh test      everything: linters, SAM, a browser, other systems' binaries, file systems
#        local/setup.sh long      for `make test-long`, once `test` is done: generators of API clients, and PostgreSQL

cd "$(dirname "$0")/.."

VENV=.venv
SAM_VENV=.venv-sam
LOG=.local/setup.log
KERNEL=.local/kernel
POSTGRESQL=.local/postgresql
PYTHON=${PYTHON:-python3}

fail() {
    printf 'setup: %s\n' "$*" >&2
    exit 1
}

PURPOSE=${1:-}
case $PURPOSE in
    cli | undeploy) PACKAGES=requirements/cli.txt ;;
    deploy) PACKAGES=requirements/deploy.txt ;;
    release) PACKAGES=requirements/release.txt ;;
    soak | run | bench) PACKAGES=requirements/run.txt ;;
    test | long) PACKAGES=requirements/dev.txt ;;
    *) fail "found '$PURPOSE'; cli, undeploy, deploy, release, soak, run, bench, test or long is allowed" ;;
esac

# command or file that must be there : Debian package that has it
NEEDED=
case $PURPOSE in
    run | bench | test)
        NEEDED="cc:build-essential make:make pkg-config:pkg-config curl:curl fusermount3:fuse3
            /usr/include/fuse3/fuse.h:libfuse3-dev mkfs.ext4:e2fsprogs losetup:mount unshare:util-linux
            openssl:openssl /etc/ssl/certs:ca-certificates"
        ;;
esac
case $PURPOSE in
    bench) NEEDED="$NEEDED fio:fio /usr/bin/time:time sysbench:sysbench /usr/sbin/mariadbd:mariadb-server-core" ;;
    test) NEEDED="$NEEDED fio:fio /usr/bin/time:time" ;;
esac
# What the agent's tests trace it with, and make file systems and partitions with; what looks at the page of a restore
# as its readers do. On x86-64 only, where Debian has both: what runs the agent's binaries of other systems, and a
# machine with Debian's kernel, with what makes device-mapper's and RAID's devices there.
if [ "$PURPOSE" = test ]; then
    NEEDED="$NEEDED strace:strace jq:jq mkfs.xfs:xfsprogs mkntfs:ntfs-3g sfdisk:fdisk
        mkfs.f2fs:f2fs-tools mkfs.exfat:exfatprogs mkfs.vfat:dosfstools mkfs.jfs:jfsutils mkfs.nilfs2:nilfs-tools
        mkudffs:udftools mkfs.reiserfs:reiserfsprogs make-bcache:bcache-tools cryptsetup:cryptsetup-bin
        chromium:chromium /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf:fonts-dejavu-core"
    case $(uname -m) in
        x86_64)
            NEEDED="$NEEDED qemu-aarch64:qemu-user /usr/lib/wine/wine64:wine64 mkfs.btrfs:btrfs-progs
                qemu-system-x86_64:qemu-system-x86 dmsetup:dmsetup mdadm:mdadm lvm:lvm2"
            ;;
    esac
fi

# step WHAT COMMAND...: say what is done and how many seconds it takes; when it fails, show what it said.
step() {
    what=$1
    shift
    began=$(date +%s)
    printf '%s' "$what"
    show_elapsed 9>&- &
    ticker=$!
    trap 'kill "$ticker" 2>/dev/null' EXIT
    status=0
    "$@" >"$LOG" 2>&1 9>&- || status=$?
    trap - EXIT
    kill "$ticker" 2>/dev/null || true
    [ ! -t 1 ] || printf '\r%s' "$what"
    printf ': %s s\n' "$(($(date +%s) - began))"
    if [ "$status" != 0 ]; then
        cat "$LOG" >&2
        fail "this step failed: $what"
    fi
}

# On a terminal, the seconds so far, until the step or this script has ended.
show_elapsed() {
    [ -t 1 ] || return 0
    while sleep 1 && kill -0 $$ 2>/dev/null; do
        printf '\r%s: %s s' "$what" "$(($(date +%s) - began))"
    done
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
    [ -x "$VENV/bin/python" ] || can_make_environments || printf 'python3-venv '
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
    step "Installing Debian packages: ${packages% }" apt_install
}

apt_install() {
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086  # a list of words
    apt-get -q update && apt-get -qy install --no-install-recommends $packages
}

check_python() {
    command -v "$PYTHON" >/dev/null || fail "python3 is missing: install Python 3.11 or newer"
    "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "$PYTHON is $("$PYTHON" -V 2>&1); Python 3.11 or newer is needed"
}

# is_done STAMP FILES...: whether the step was done with these very files. STAMP then holds what to keep of them.
is_done() {
    stamp=$1
    shift
    wanted=$(cat "$@" | sha256sum; "$PYTHON" -V)
    [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]
}

done_now() {
    printf '%s\n' "$wanted" >"$stamp"
}

# make_environment FOLDER REQUIREMENTS: a virtual environment with these packages, beside those that it has.
make_environment() {
    environment=$1 list=$2
    is_done "$environment/has-$(basename "$list")" requirements/pip.txt "$list" && return 0
    step "Installing the $(grep -c '^[a-z0-9].*==' "$list") Python packages of $list in $environment" fill_environment
    done_now
}

fill_environment() {
    [ -x "$environment/bin/python" ] || "$PYTHON" -m venv --clear "$environment" || return
    pip_install requirements/pip.txt && pip_install "$list"
}

pip_install() {
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes \
        --only-binary=:all: --requirement "$1"
}

# npm_install FOLDER WHAT
npm_install() {
    is_done "$1/node_modules/is-whole" "$1/package-lock.json" && return 0
    # Node brings certificates of its own; this machine's are what counts.
    step "Installing $2 in $1" env NODE_USE_SYSTEM_CA=1 PATH="$PWD/$VENV/bin:$PATH" \
        npm --prefix "$1" ci --no-audit --no-fund --loglevel=error
    done_now
}

# Those of the Go client and of its generator; the tests have no network.
fetch_go_modules() {
    is_done .local/go/is-whole tests/clients/go.mod tests/clients/go.sum && return 0
    mkdir -p .local/go
    step "Fetching the Go modules of tests/clients" env GOPATH="$PWD/.local/go" GOFLAGS=-modcacherw GOTOOLCHAIN=local \
        .venv-clients/bin/go -C tests/clients mod download
    done_now
}

# Debian's kernel for a machine in QEMU: it is unpacked and not installed, so that this machine starts as before.
unpack_kernel() {
    [ "$(uname -m)" = x86_64 ] || return 0
    [ ! -e "$KERNEL/is-whole" ] || return 0
    step "Unpacking Debian's kernel in $KERNEL" fetch_kernel
}

fetch_kernel() {
    rm -rf "$KERNEL" && mkdir -p "$KERNEL" || return
    apt-get -q update || true
    package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p')
    (cd "$KERNEL" && apt-get -q download "$package") || return
    dpkg-deb -x "$KERNEL"/linux-image-*.deb "$KERNEL" || return
    rm "$KERNEL"/linux-image-*.deb
    touch "$KERNEL/is-whole"
}

# A database for instances of the embedded AWS: it is unpacked and not installed, so that no server starts here.
unpack_postgresql() {
    [ ! -e "$POSTGRESQL/is-whole" ] || return 0
    step "Unpacking Debian's PostgreSQL in $POSTGRESQL" fetch_postgresql
}

fetch_postgresql() {
    rm -rf "$POSTGRESQL" && mkdir -p "$POSTGRESQL/packages/partial" || return
    apt-get -q update || true
    package=$(apt-cache depends postgresql | sed -n 's/^ *Depends: \(postgresql-[0-9].*\)/\1/p')
    # With what it depends on, as far as this machine lacks it.
    apt-get -qy install --download-only --reinstall --no-install-recommends \
        -o "Dir::Cache::archives=$PWD/$POSTGRESQL/packages" "$package" || return
    for package in "$POSTGRESQL"/packages/*.deb; do
        dpkg-deb -x "$package" "$POSTGRESQL" || return
    done
    # Some packages still put libraries into /lib, which is /usr/lib.
    [ ! -d "$POSTGRESQL/lib" ] || cp -a "$POSTGRESQL/lib/." "$POSTGRESQL/usr/lib/" || return
    rm -r "$POSTGRESQL/packages"
    touch "$POSTGRESQL/is-whole"
}

# build FOLDER WHAT: make knows by itself what is out of date.
build() {
    make -q -C "$1" >/dev/null 2>&1 || step "Building $2" make -C "$1"
}

# Two at once would write the same files. The lock ends with this script, however that ends: no step inherits it.
wait_for_others() {
    command -v flock >/dev/null || return 0
    exec 9>.local/setup.lock
    flock -n 9 && return 0
    printf 'Waiting for another set-up of this clone\n'
    flock 9
}

mkdir -p "$(dirname "$LOG")"
wait_for_others
[ -x "$VENV/bin/python" ] || printf 'Setting up for the first time; what is done here is skipped the next time.\n'
install_packages
check_python
make_environment "$VENV" "$PACKAGES"
case $PURPOSE in
    undeploy | deploy | test) make_environment "$SAM_VENV" requirements/sam.txt ;;
esac
case $PURPOSE in
    cli | undeploy | deploy | release | soak) exit 0 ;;
    long)
        make_environment .venv-clients tests/clients/requirements.txt
        npm_install tests/clients "the linter of OpenAPI and the compiler of TypeScript"
        fetch_go_modules
        unpack_postgresql
        exit 0
        ;;
    test)
        npm_install tests/lint/asl "the ASL linter"
        unpack_kernel
        ;;
    bench) unpack_postgresql ;;
esac
build warmer "the warm-up agent"
build local/aws/first_touch "the first-touch file system"
