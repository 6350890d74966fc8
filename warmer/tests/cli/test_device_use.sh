#!/bin/sh
# What uses a device. Mounts, and what is made of disks, are looked at in tests/local/aws/machines/test_device_use.py.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

volume=vol-0123456789abcdef0
truncate -s 1M disk

run "$WARMER" device-use disk --action=check --volume=$volume
expect a_device_that_nobody_uses_is_free 0 "{\"event\":\"use\",\"volumeId\":\"$volume\",\"mounts\":[],\"others\":[]}" ''

sleep 600 3<disk &
holder=$!
until_runs $holder sleep
run "$WARMER" device-use disk --action=check --volume=$volume
expect_true a_process_that_has_it_open_is_named grep -qF "\"others\":[\"process $holder (sleep)\"]" out
let_go $holder

python3 -c 'import ctypes, os, threading, time
def hold():
    ctypes.CDLL(None).unshare(0x400)  # CLONE_FILES
    os.open("disk", os.O_RDWR)
    open("is-held", "w").close()
    time.sleep(600)
threading.Thread(target=hold).start()' &
holder=$!
until [ -e is-held ] || ! kill -0 $holder; do sleep 0.05; done
run "$WARMER" device-use disk --action=check --volume=$volume
expect_true a_thread_that_has_it_open_alone_is_named grep -qF "\"others\":[\"process $holder (python3), which has" out
let_go $holder

sleep 0.5 3<disk &
run "$WARMER" device-use disk --action=check --volume=$volume
expect_true one_that_has_it_open_for_a_moment_is_not grep -qF '"others":[]' out

run "$WARMER" device-use --action=unmount --volume=vol-0000000000000dead
expect_true what_is_not_there_is_not_free test "$status" -eq 66 -a "$(field verdict)" = refused
run "$WARMER" device-use disk --action=warm --volume=$volume
expect_true it_only_looks_or_unmounts test "$status" -eq 2
run "$WARMER" device-use disk --action=online --volume=$volume
expect_true only_windows_has_disks_that_are_offline sh -c \
    "test $status -eq 2 && grep -q 'disk: only disks of Windows are brought online' err"

# What a machine could start from is looked for only where that is asked.
boots() {
    run "$WARMER" device-use "$2" --action=boot --volume=$volume
    expect_true "$1" test "$status" -eq 0 -a "$(sed -n 's/.*"boots":\([a-z]*\).*/\1/p' out)" = "$3"
}
truncate -s 8M image
boots without_anything_a_device_boots_nothing image false
if command -v sfdisk >/dev/null; then
    printf 'label: gpt\nstart=2048, size=4096\n' | sfdisk -q image
    boots a_table_with_a_partition_for_data_boots_nothing image false
    printf 'label: gpt\nstart=2048, size=4096, type=U\n' | sfdisk -q image
    boots an_efi_system_partition_boots image true
    printf 'label: gpt\nstart=2048, size=4096, type=21686148-6449-6E6F-744E-656564454649\n' | sfdisk -q image
    boots a_partition_of_grub_boots image true
    printf 'label: gpt\nstart=2048, size=4096, attrs=LegacyBIOSBootable\n' | sfdisk -q image
    boots one_that_is_marked_for_a_boot_loader_boots image true
    printf 'label: dos\nstart=2048, size=4096\n' | sfdisk -q image
    boots an_old_table_without_code_boots_nothing image false
    printf '\353' | dd of=image conv=notrunc status=none
    boots code_alone_says_nothing image ''
    printf 'label: dos\nstart=2048, size=4096, bootable\n' | sfdisk -q image
    boots an_active_partition_boots image true
    printf 'label: dos\nstart=2048, size=4096, type=ef\n' | sfdisk -q image
    boots an_efi_partition_of_an_old_table_boots image true
    printf 'label: gpt\nstart=2048, size=4096, type=U\n' | sfdisk -q image
    printf 'x' | dd of=image bs=1 seek=600 conv=notrunc status=none
    boots a_table_that_is_damaged_says_nothing image ''
    dd if=/dev/zero of=image bs=512 count=1 conv=notrunc status=none
    boots a_table_without_its_first_sector_says_nothing image ''
else
    echo "skip partition tables: install the Debian package fdisk"
fi
run "$WARMER" device-use image --action=check --volume=$volume
expect_true otherwise_it_is_not_read sh -c '! grep -q boots out'
