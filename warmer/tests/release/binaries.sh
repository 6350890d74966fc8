#!/bin/sh
# The release binaries of $SYSTEMS are small, need no library of their system's, and know nothing of the folder in which
# they were built. Without $QUICK they are built again elsewhere, and come out the same.
source=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd -P)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/warmer-another-folder-XXXXXX")
trap 'rm -rf "$scratch"' EXIT

binaries=
for system in $SYSTEMS; do
    case $system in
        windows-*) binaries="$binaries warmer-$system.exe" ;;
        *) binaries="$binaries warmer-$system" ;;
    esac
done

report() { # NAME COMMAND…
    name=$1
    shift
    if "$@"; then echo "ok $name"; else echo "not ok $name: false: $*"; fi
}

built_again() {
    copy=$scratch/copy
    mkdir "$copy"
    cp -r "$source/src" "$source/vendor" "$source/Makefile" "$source/"*.mk "$source/VERSION" "$copy"
    # shellcheck disable=SC2046,SC2086  # lists of words
    if ! make -C "$copy" $(printf 'out/release/%s ' $binaries) BUILD=out ZIG="$ZIG" ZIG_LOCAL_CACHE_DIR="$copy/cache" >"$copy/log" 2>&1; then
        sed 's/^/# /' "$copy/log"
        echo "not ok the_binaries_build_in_another_folder"
        exit 1
    fi
    for binary in $binaries; do
        report "${binary}_has_the_same_bytes_from_another_folder" cmp "$RELEASE/$binary" "$copy/out/release/$binary"
    done
}

[ -n "$QUICK" ] || built_again
for binary in $binaries; do
    report "${binary}_does_not_name_the_folder_it_was_built_in" sh -c "! grep -q '$source' '$RELEASE/$binary'"
    report "${binary}_is_under_1_MiB" test "$(wc -c <"$RELEASE/$binary")" -lt 1048576
done
for system in $SYSTEMS; do
    case $system in
        linux-*)
            report "warmer-${system}_needs_no_loader" sh -c \
                "! LC_ALL=C readelf -lW '$RELEASE/warmer-$system' | grep -q INTERP"
            ;;
        # What is left is part of Windows since Windows 10 and Server 2016.
        windows-*)
            report "warmer-${system}.exe_needs_what_windows_brings" sh -c \
                "objdump -p '$RELEASE/warmer-$system.exe' | sed -n 's/.*DLL Name: //p' >'$scratch/libraries' &&
                grep -qi kernel32 '$scratch/libraries' && ! grep -qiv '^kernel32\.dll$\|^shell32\.dll$\|^winhttp\.dll$\|^api-ms-win-crt-' '$scratch/libraries'"
            ;;
    esac
done
