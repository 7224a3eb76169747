# Read-only file systems and overlays: the inspection works, opening is refused by name, no byte is
# changed; over an overlay a store is recovered and goes on, and what lies below stays as it is.
source "$(dirname "$0")/common.sh"
# Room for a store with the default segments.
TMPFS_SIZE=32m

# Every file of a directory with its bytes and times.
picture() { (cd "$1" && stat -c '%n %s %Y %Z' -- * && sha256sum -- *); }

# still DIR WHAT: looks at a store that nobody may change.
still() {
    local before view told status
    before=$(picture "$1")
    for view in records stats verify; do
        told=$("$DUMP" "$view" "$1" 2>&1) || fail "$2: journal-dump $view: $(tail -2 <<< "$told")"
        [ -n "$told" ] || fail "$2: journal-dump $view says nothing"
    done
    status=0
    told=$(timeout 20 "$RIG" open "$1" 2>&1) || status=$?
    [ "$status" = 1 ] && [[ $told == *"Read-only file system"* ]] || fail "$2: open: $status, $told"
    refusal=$told
    [ "$before" = "$(picture "$1")" ] || fail "$2: something was changed"
}

for fs in tmpfs ext4 xfs btrfs; do
    why=$(unusable "$fs")
    [ -z "$why" ] || { skip "$fs: $why"; continue; }
    fresh "$fs"
    closed=$at/closed killed=$at/killed
    told=$("$RIG" maps "$at/fresh")
    case $fs in tmpfs | ext4) expected="mapped true" ;; *) expected="mapped false" ;; esac
    [ "$told" = "$expected" ] || fail "$fs: $told instead of $expected"
    "$RIG" work "$closed" 7 1 always auto > "$SCRATCH/closed" 2>&1 || fail "$fs: $(tail -2 "$SCRATCH/closed")"
    rm -f "$SCRATCH/killed"
    "$RIG" work "$killed" 8 1 always auto > "$SCRATCH/killed" 2> "$SCRATCH/errors" &
    pid=$!
    pids+=("$pid")
    enough() { [ "$(wc -c < "$SCRATCH/killed")" -gt 800 ]; }
    until_true 60 enough || fail "$fs: the child says nothing"
    kill -9 "$pid" 2> /dev/null || true
    wait "$pid" 2> /dev/null || true
    mount -o remount,ro "$at"
    still "$closed" "$fs, closed"
    still "$killed" "$fs, killed"
    say "$fs: ${told}; open: ${refusal##*: cannot}"
    parts=$((parts + 1))

    if ! grep -qw overlay /proc/filesystems; then
        skip "an overlay over $fs: the kernel has none"
        continue
    fi
    lower=$at
    mount_new -t tmpfs -o size=32m tmpfs
    upper=$at
    mkdir "$upper/upper" "$upper/work"
    mount_new -t overlay -o "lowerdir=$lower,upperdir=$upper/upper,workdir=$upper/work" overlay
    below=$(picture "$lower/killed")
    told=$("$RIG" maps "$at/new")
    [ "$told" = "mapped false" ] || fail "an overlay over $fs: $told"
    for one in closed:7 killed:8; do
        told=$("$RIG" check "$at/${one%:*}" "${one#*:}" always auto "$SCRATCH/${one%:*}" 2>&1) \
            || fail "an overlay over $fs, $one: $told"
        "$DUMP" verify "$at/${one%:*}" > "$SCRATCH/verify" 2>&1 || fail "$one: $(cat "$SCRATCH/verify")"
        say "an overlay over $fs, ${one%:*}: $told"
    done
    "$RIG" work "$at/third" 9 1 always auto > "$SCRATCH/third" 2>&1 || fail "an overlay over $fs: work"
    umount "$at"
    mount -t overlay -o "lowerdir=$lower,upperdir=$upper/upper,workdir=$upper/work" overlay "$at"
    told=$("$RIG" check "$at/third" 9 always auto "$SCRATCH/third" 2>&1) || fail "an overlay over $fs: $told"
    [ "$below" = "$(picture "$lower/killed")" ] || fail "an overlay over $fs: what lies below changed"
    mount -o remount,ro "$at"
    still "$at/third" "a read-only overlay over $fs"
    say "an overlay over $fs, its own: $told"
    parts=$((parts + 1))
done
finish
