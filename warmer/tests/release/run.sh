#!/bin/sh
# Runs the release binaries as a user would: this machine's own directly, the other Linux one under qemu-user, the
# Windows one under wine. Called by `make check-release`; the arguments are the unit tests built for Windows.
#
# Each test becomes a small program of its own in $WORK, named by system and test, for ../run.sh to count.
set -eu
here=$(dirname "$(readlink -f "$0")")

need() { # COMMAND PACKAGE
    if ! command -v "$1" >/dev/null 2>&1; then
        echo "check-release: $1 is missing: install Debian's $2 (\`make setup\` does), or name yours" >&2
        exit 1
    fi
}

# wrap NAME: makes a program of the shell lines on standard input.
wrap() {
    { echo '#!/bin/sh'; cat; } >"$WORK/$1"
    chmod 755 "$WORK/$1"
}

rm -rf "$WORK"
mkdir -p "$WORK/bin"
cd "$WORK"

# An emulator takes no filter of system calls; deny ends so where there are none.
wrap bin/no-deny <<-LINES
	echo 'deny: no system call filter can be set for an emulated program' >&2
	exit 77
LINES
wrap bin/warmer-arm64 <<-LINES
	exec $QEMU_ARM64 $RELEASE/warmer-linux-arm64 "\$@"
LINES
wrap bin/wine <<-LINES
	export LC_ALL=C.UTF-8 WINEPREFIX=$WINEPREFIX WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml='
	exec $WINE "\$@"
LINES
wrap bin/warmer-windows <<-LINES
	exec $WORK/bin/wine $RELEASE/warmer-windows-x86_64.exe "\$@"
LINES

# linux_tests SYSTEM WARMER DENY
linux_tests() {
    for script in "$here"/../cli/test_*.sh; do
        case $3:$(basename "$script") in
            "$DENY":*) ;;
            *:test_system_calls.sh | *:test_apply_device.sh)
                echo "skip $(basename "$script") of $1: a trace of an emulated program shows the emulator's own calls"
                continue
                ;;
        esac
        wrap "$1-$(basename "$script" .sh)" <<-LINES
			export WARMER=$2 DENY=$3
			exec $script
		LINES
    done
}

wrap binaries <<-LINES
	export SYSTEMS='$SYSTEMS' QUICK='$QUICK' RELEASE=$RELEASE ZIG='$ZIG'
	exec $here/binaries.sh
LINES

windows_tests() { # PROGRAM…
    for program in "$@"; do
        wrap "windows-$(basename "$program")" <<-LINES
			cd $WORK && exec bin/wine $program
		LINES
    done
    for script in windows test_apply; do
        wrap "windows-cli-$script" <<-LINES
			export WARMER=$WORK/bin/warmer-windows DENY=$WORK/bin/no-deny
			exec $here/../cli/$script.sh
		LINES
    done
    if [ ! -e "$WINEPREFIX/system.reg" ]; then
        mkdir -p "$WINEPREFIX"
        bin/wine wineboot -i >"$WORK/wineboot.log" 2>&1 || { cat "$WORK/wineboot.log" >&2; exit 1; }
    fi
}

for system in $SYSTEMS; do
    case $(uname -m):$system in
        x86_64:linux-x86_64 | aarch64:linux-arm64) linux_tests "$system" "$RELEASE/warmer-$system" "$DENY" ;;
        x86_64:linux-arm64)
            need "$QEMU_ARM64" qemu-user
            linux_tests "$system" "$WORK/bin/warmer-arm64" "$WORK/bin/no-deny"
            ;;
        x86_64:windows-x86_64)
            need "$WINE" wine64
            windows_tests "$@"
            ;;
        *) echo "skip the binary of $system: Debian's wine64 needs an x86-64 machine, this one is $(uname -m)" ;;
    esac
done
# shellcheck disable=SC2046  # a list of words
exec "$here/../run.sh" $(find "$WORK" -maxdepth 1 -type f -perm -100 | sort)
