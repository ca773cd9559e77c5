. ./common/dmflakey

# Of the suite's functions for dm-flakey, which work on the scratch device: here that is a loop device, as large as the trace's disk.
mount_it() { MOUNT_OPTIONS="-o $options" _mount_flakey; }

detach() {
    if [ -n "$flakey" ]; then
        _cleanup_flakey
        flakey=
    fi
    if [ -n "$loop" ]; then
        _destroy_loop_device "$loop"
        loop=
    fi
}

do_workload() {
    truncate -s "$bytes" "$image"
    loop=$(_create_loop_device "$image")
    SCRATCH_DEV=$loop SCRATCH_MNT=$mnt SCRATCH_LOGDEV='' SCRATCH_RTDEV=''
    _require_dm_target flakey
    dev=$loop
    make_it > "$work/said" 2>&1 || stuck "the file system cannot be made: $(tail -n 1 "$work/said")"
    flakey=yes
    _init_flakey
    dev=$FLAKEY_DEV
    mount_it || stuck "it cannot be mounted"
    drive
}

# The disk that the crash leaves: what was handed to it until now, and nothing more. With control=synced nothing is left to be lost.
# It is _flakey_drop_and_remount in parts, for a repair may have to come before the mount.
build_disk() {
    [ "$control" = no ] || sync
    _load_flakey_table "$FLAKEY_DROP_WRITES"
    _unmount_flakey
    _load_flakey_table "$FLAKEY_ALLOW_WRITES"
}
