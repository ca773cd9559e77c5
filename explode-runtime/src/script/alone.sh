say() { printf '%s\n' "$*"; }
kept() { say "    kept: $*"; }
lost() {
    say "    LOST: $*"
    broken=yes
}
stuck() {
    say "cannot continue: $*" >&2
    exit 2
}

usage() {
    say "usage: $0 [--control] [DEVICE]"
    say "  --control  a disk that has lost nothing, in place of the one that the crash has left"
    say "  DEVICE     a block device of $bytes bytes or more, for a loop device; WHAT IS ON IT IS OVERWRITTEN"
}

# The image becomes the device.
attach() {
    if [ -n "$device" ]; then
        dd if="$image" of="$device" bs=1M conv=fsync 2> "$work/said" || stuck "dd: $(tail -n 1 "$work/said")"
        dev=$device
    else
        loop=$(losetup -f --show "$image") || stuck "no loop device; name a block device"
        dev=$loop
    fi
}

# The device becomes what it was when it was detached.
attach_again() {
    if [ -n "$device" ]; then dev=$device; else attach; fi
}

detach() {
    if grep -q " $mnt " /proc/mounts; then
        umount "$mnt" || return 1
    fi
    if [ -n "$loop" ]; then
        losetup -d "$loop" || return 1
        loop=
    fi
}

# Whatever happens, nothing stays behind.
clean_up() {
    trap - EXIT HUP INT TERM
    [ "$status" -ne 2 ] || say "stopped before the end" >&2
    if detach; then rm -r "$work"; else say "$mnt is still in use, and so is $work" >&2; fi
    exit "$status"
}

control=no
device=
for argument in "$@"; do
    case $argument in
        --control)
            control=$control_disk
            [ "$control" != no ] || stuck "no disk of this moment that has lost nothing was found to be sound"
            ;;
        -h | --help)
            usage
            exit 0
            ;;
        -* | '')
            usage >&2
            exit 2
            ;;
        *) device=$argument ;;
    esac
done
[ "$(id -u)" -eq 0 ] || stuck "this needs root, to mount"
for program in $programs; do
    command -v "$program" > /dev/null || stuck "$program is not installed"
done
[ -z "$device" ] || [ -b "$device" ] || stuck "$device is no block device"
if [ -n "$device" ] && [ "$(blockdev --getsize64 "$device")" -lt "$bytes" ]; then
    stuck "$device has less than $bytes bytes"
fi
[ -n "$device" ] || command -v losetup > /dev/null || stuck "losetup is not installed; name a block device"
grep -qw "$type" /proc/filesystems || modprobe "$type" 2> /dev/null || stuck "the kernel has no $type"

status=2
broken=no
loop=
work=$(mktemp -d) || stuck "no temporary folder"
mnt=$work/mnt
image=$work/image
trap clean_up EXIT
trap 'exit 2' HUP INT TERM
mkdir "$mnt"
make_data

say "1. The workload, on a new file system"
do_workload
say "2. The disk, with recorded blocks"
build_disk
say "3. What the file system has after the crash"
look_after_crash

if [ "$broken" = yes ]; then
    status=1
    say "The promise is broken."
else
    status=0
    say "Nothing that was promised is lost."
fi
