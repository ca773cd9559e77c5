attach() {
    loop=$(_create_loop_device "$image")
    dev=$loop
}

attach_again() { attach; }

detach() {
    if grep -q " $mnt " /proc/mounts; then
        umount "$mnt" || return 1
    fi
    if [ -n "$loop" ]; then
        _destroy_loop_device "$loop"
        loop=
    fi
}
