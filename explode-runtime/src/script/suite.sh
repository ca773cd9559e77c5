say() { echo "$*" >> "$seqres.full"; }
kept() { say "kept: $*"; }
lost() {
    echo "LOST: $*"
    broken=yes
}
stuck() { _fail "cannot continue: $*"; }

_cleanup()
{
    cd / || exit
    detach
    rm -r -f "$work" "$tmp".*
}

# real QA test starts here

_require_test
_require_loop
for program in $programs; do
    _require_command "$(type -P "$program")" "$program"
done
[ "$FSTYP" = "$type" ] || _notrun "this test is for $type"

control=no
broken=no
loop=
flakey=
log=
logging=
work=$TEST_DIR/$seq.work
mnt=$work/mnt
image=$work/image
rm -r -f "$work"
mkdir -p "$mnt"
make_data

do_workload
build_disk
look_after_crash

echo "Silence is golden"
status=0
exit
