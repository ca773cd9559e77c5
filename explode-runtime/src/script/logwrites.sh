. ./common/dmlogwrites

# Of the suite's functions for dm-log-writes, which work on the scratch device: here that is a loop device, as large as the trace's
# disk, with another one for the log.
mount_it() { mount -t "$type" -o "$options" "$dev" "$mnt"; }

detach() {
    if grep -q " $mnt " /proc/mounts; then
        umount "$mnt" || return 1
    fi
    if [ -n "$logging" ]; then
        _log_writes_remove
        logging=
    fi
    for device in $loop $log; do
        _destroy_loop_device "$device"
    done
    loop=
    log=
}

# As for a recorded disk, with a mark in the log right after the workload. With control=flushed nothing is left to be lost.
drive() {
    umask 022
    set -e
    workload
    set +e
    [ "$control" = no ] || sync "$dev"
    _log_writes_mark end
    demands
    [ "$broken" = no ] ||
        stuck "the running file system itself has lost something: the workload did not do the same here"
}

do_workload() {
    truncate -s "$bytes" "$image"
    truncate -s $((bytes * 4 + 64 * 1024 * 1024)) "$work/log"
    loop=$(_create_loop_device "$image")
    log=$(_create_loop_device "$work/log")
    SCRATCH_DEV=$loop SCRATCH_MNT=$mnt SCRATCH_LOGDEV='' SCRATCH_RTDEV='' LOGWRITES_DEV=$log
    _require_log_writes
    logging=yes
    _log_writes_init "$loop"
    dev=$LOGWRITES_DMDEV
    make_it > "$work/said" 2>&1 || stuck "the file system cannot be made: $(tail -n 1 "$work/said")"
    sync "$dev"
    mount_it || stuck "it cannot be mounted"
    drive
}

# The disk that the crash leaves if the cache of the disk is lost: what was flushed until the mark, and what was written with FUA.
# dm-log-writes puts a write into the log when it is flushed.
build_disk() {
    umount "$mnt" || stuck "it cannot be unmounted"
    _log_writes_remove
    logging=
    _destroy_loop_device "$loop"
    rm "$image"
    truncate -s "$bytes" "$image"
    loop=$(_create_loop_device "$image")
    dev=$loop
    _log_writes_replay_log end "$loop"
}
