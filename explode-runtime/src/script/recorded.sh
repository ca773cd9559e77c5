mount_it() { mount -t "$type" -o "$options" "$dev" "$mnt"; }

# Spreads $work/bytes over the image: the bytes of a unit, then the places FIRST:COUNT in units, one after the other.
spread() {
    unit=$1
    shift
    taken=0
    for place in "$@"; do
        dd if="$work/bytes" of="$image" bs="$unit" skip="$taken" seek="${place%:*}" count="${place#*:}" \
            conv=notrunc 2> "$work/said" || stuck "dd: $(tail -n 1 "$work/said")"
        taken=$((taken + ${place#*:}))
    done
}

# Puts bytes into the image: base64 on standard input, for the places OFFSET:LENGTH.
put() {
    base64 -d > "$work/bytes" || stuck "base64 cannot be decoded"
    spread 1 "$@"
}

# Puts blocks of 4096 bytes into the image: compressed, in base64 on standard input, for the places FIRST:COUNT.
unpack() {
    base64 -d | gzip -d > "$work/bytes" || stuck "the blocks cannot be decompressed"
    spread 4096 "$@"
}

# Fills sectors of 512 bytes of the image with one byte: BYTE, then FIRST:COUNT each.
fill() {
    byte=$1
    shift
    for place in "$@"; do
        head -c $((${place#*:} * 512)) /dev/zero | tr '\000' "$byte" |
            dd of="$image" bs=512 seek="${place%:*}" conv=notrunc 2> "$work/said" ||
            stuck "dd: $(tail -n 1 "$work/said")"
    done
}

# Copies sectors of a file into the image: FILE, the first of them, FIRST:COUNT in the image.
copy() {
    dd if="$1" of="$image" bs=512 skip="$2" seek="${3%:*}" count="${3#*:}" conv=notrunc 2> "$work/said" ||
        stuck "dd: $(tail -n 1 "$work/said")"
}

# Is the image what was recorded?
sum_is() {
    sum=$(cksum < "$image")
    [ "${sum%% *}" = "$1" ] || stuck "the disk that was built has the checksum ${sum%% *}, not $1: this file is damaged"
}

do_workload() {
    truncate -s "$bytes" "$image"
    attach
    make_it > "$work/said" 2>&1 || stuck "the file system cannot be made: $(tail -n 1 "$work/said")"
    mount_it || stuck "it cannot be mounted"
    drive
    detach || stuck "it cannot be unmounted"
    [ "$control" = unmounted ] || rm "$image"
}

# The disk that the crash has left; with control=recorded the one that it leaves if no write is lost, with control=unmounted the one
# that the workload has left.
build_disk() {
    if [ "$control" = unmounted ]; then
        say "   none: as the workload has left it, unmounted, without a crash"
        attach_again
        return
    fi
    truncate -s "$bytes" "$image"
    pristine_disk
    crash_disk
    if [ "$control" = no ]; then
        sum_is "$crash_sum"
        say "   as the crash has left it: of the writes that were pending $kept_writes reached it, $lost_writes were lost"
    else
        other_disk
        sum_is "$other_sum"
        say "   as the same crash leaves it if no write is lost"
    fi
    attach
}
