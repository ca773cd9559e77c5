# Puts bytes into the image: base64 on standard input, for the places OFFSET:LENGTH, one after the other.
put() {
    base64 -d > "$work/bytes" || stuck "base64 cannot be decoded"
    taken=0
    for place in "$@"; do
        dd if="$work/bytes" of="$image" bs=1 skip="$taken" seek="${place%:*}" count="${place#*:}" \
            conv=notrunc 2> "$work/said" || stuck "dd: $(tail -n 1 "$work/said")"
        taken=$((taken + ${place#*:}))
    done
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

# Has FILE a size from LEAST to MOST? - is no bound.
size_of() {
    size=$(wc -c < "$1") || { why="cannot be read"; return 1; }
    if [ "$size" -lt "$2" ]; then
        why="has $((size)) bytes, not $2"
    elif [ "$3" != - ] && [ "$size" -gt "$3" ]; then
        why="has $((size)) bytes, not $3"
    else
        return 0
    fi
    return 1
}

# Has FILE from byte OFFSET on the bytes of the file EXPECTED?
bytes_at() {
    length=$(wc -c < "$3")
    tail -c +$(($2 + 1)) "$1" | head -c $((length)) > "$work/found" || { why="cannot be read"; return 1; }
    cmp -s "$work/found" "$3" && return 0
    differs=$(cmp "$work/found" "$3" 2>&1 | sed 's/^.*: //; s/^.* differ/they differ/')
    why="has other bytes from byte $2 on than the $((length)) that it should have ($differs)"
    return 1
}

demand_directory() {
    if [ -d "$mnt$1" ] && [ ! -L "$mnt$1" ]; then
        kept "$1 is a directory"
    else
        lost "$1 is no directory, or is gone"
    fi
}

# Is there anything of this name? A symbolic link is, wherever it leads.
is_there() { [ -e "$mnt$1" ] || [ -L "$mnt$1" ]; }

demand_nothing() {
    if is_there "$1"; then lost "$1 is there, and was taken away for good"; else kept "$1 is not there"; fi
}

demand_symlink() {
    if [ ! -L "$mnt$1" ]; then
        lost "$1 is no symbolic link, or is gone"
    elif [ "$(readlink "$mnt$1")" = "$2" ]; then
        kept "$1 holds $2"
    else
        lost "$1 holds $(readlink "$mnt$1")"
    fi
}

demand_mode() {
    found=$(stat -c %a "$mnt$1" 2>/dev/null) || found=none
    if [ "$found" = "$2" ]; then kept "$1 has the mode $2"; else lost "$1 has the mode $found"; fi
}

# PATH, and each extended attribute of users as getfattr writes it.
demand_xattrs() {
    path=$1
    shift
    getfattr --absolute-names -d -e hex "$mnt$path" > "$work/found" 2> "$work/said" || {
        lost "$path does not say which extended attributes it has: $(tail -n 1 "$work/said")"
        return
    }
    found=$(grep '^user\.' "$work/found" | sort)
    wanted=$(printf '%s\n' "$@" | sed '/^$/d' | sort)
    if [ "$found" = "$wanted" ]; then
        kept "$path has its extended attributes"
    else
        lost "$path has the extended attributes: $(printf %s "${found:-none}" | tr '\n' ' ')"
    fi
}

# PATH, and functions that look at contents: one of them must be content.
demand_file() {
    if [ -f "$mnt$1" ] && [ ! -L "$mnt$1" ]; then
        holds "$@"
    elif is_there "$1"; then
        lost "$1 is no file"
    else
        lost "$1 is gone"
    fi
}

# The same, or nothing at all.
demand_perhaps() {
    if is_there "$1"; then demand_file "$@"; else kept "$1 is not there, as it may be"; fi
}

holds() {
    path=$1
    first=
    shift
    for look in "$@"; do
        if "$look" "$mnt$path"; then
            kept "$path holds what it should"
            return
        fi
        first=${first:-$why}
    done
    lost "$path $first"
}

# A command of the checker's own: 0 for ok, 1 for a broken promise.
demand_command() {
    code=0
    "$1" > "$work/said" 2>&1 || code=$?
    case $code in
        0) kept "the check is content" ;;
        1) lost "$(tail -n 1 "$work/said")" ;;
        *) stuck "the check ended with $code: $(tail -n 1 "$work/said")" ;;
    esac
}

# Repairs and mounts the file system as a crash has left it; what does not succeed is lost.
recover() {
    code=0
    repair_it > "$work/said" 2>&1 || code=$?
    case " $repaired " in
        *" $code "*) say "Recovery: $repairer ended with $code." ;;
        *)
            lost "$repairer ended with $code: $(tail -n 3 "$work/said" | tr '\n' ' ')"
            return 1
            ;;
    esac
    mount_it 2> "$work/said" || {
        lost "the file system cannot be mounted: $(tail -n 1 "$work/said")"
        return 1
    }
}

# What was recovered and mounted once has nothing wrong for the checker of the file system.
look_strictly() {
    umount "$mnt"
    code=0
    strict_it > "$work/said" 2>&1 || code=$?
    [ "$code" -eq 0 ] || lost "after the recovery a look at it ended with $code: $(tail -n 3 "$work/said" | tr '\n' ' ')"
    mount_it || lost "the file system cannot be mounted again"
}

do_workload() {
    truncate -s "$bytes" "$image"
    attach
    make_it > "$work/said" 2>&1 || stuck "the file system cannot be made: $(tail -n 1 "$work/said")"
    mount_it || stuck "it cannot be mounted"
    umask 022
    set -e
    workload
    set +e
    if [ "$when" = after ]; then
        say "   What the file system has, without a crash:"
        demands
        [ "$broken" = no ] ||
            stuck "the running file system itself has lost something: the workload did not do the same here"
    fi
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

look_after_crash() {
    if recover; then
        [ "$strict" = no ] || look_strictly
        demands
    fi
}
