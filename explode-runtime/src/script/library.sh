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

# Can everything be read? With an argument also the extended attributes.
demand_readable() {
    {
        find "$mnt" -exec ls -ld {} +
        find "$mnt" -type f -exec cat {} +
        [ $# = 0 ] || find "$mnt" ! -type l -exec getfattr --absolute-names -m - -d {} +
    } 2> "$work/said" > /dev/null
    if [ -s "$work/said" ]; then
        lost "not everything can be read: $(head -n 1 "$work/said" | sed "s|$mnt||")"
    else
        kept "everything can be read"
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

# Commands that each test a demand: one of them must hold.
demand_any() {
    none=
    for test in "$@"; do
        if answer=$(
            broken=no
            eval "$test"
            [ "$broken" = no ]
        ); then
            [ -z "$answer" ] || printf '%s\n' "$answer"
            return
        fi
        none="${none:+$none; }${answer##*LOST: }"
    done
    lost "$none"
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

# The workload, on what is mounted; if the crash came after it, what was promised must be there.
drive() {
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
}

look_after_crash() {
    if recover; then
        [ "$strict" = no ] || look_strictly
        demands
    fi
}
