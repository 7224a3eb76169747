# What the rigs share: what is there and what is missing, file systems on loop devices, and an end
# that leaves nothing behind. A rig is run by `run`, which sets RIG (the helper program), DUMP
# (journal-dump), SCRATCH (a directory of the rig's own) and ROUNDS (how long to look).
#
# Status of a rig: 0 passed, 77 all of it was skipped, else failed.

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${RIG:?set by run}" "${DUMP:?set by run}" "${SCRATCH:?set by run}" "${ROUNDS:?set by run}"
exec < /dev/null

mounts=() loops=() pids=()
parts=0 skips=0

# Ends what this rig began, newest first, by its own numbers.
clean() {
    local status=$? at
    trap - EXIT INT TERM
    set +e
    for at in "${pids[@]}"; do kill -9 "$at" 2> /dev/null; wait "$at" 2> /dev/null; done
    for ((at = ${#mounts[@]} - 1; at >= 0; at--)); do
        mountpoint -q "${mounts[at]}" && { umount "${mounts[at]}" || umount -l "${mounts[at]}"; }
    done 2> /dev/null
    for at in "${loops[@]}"; do losetup -d "$at" 2> /dev/null; done
    exit "$status"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { printf '  %s\n' "$*"; }
fail() { printf '  FAILED: %s\n' "$*"; exit 1; }

# A part that is left out, and why.
skip() { skips=$((skips + 1)); say "skipped: $*"; }

# Ends a rig: skipped if no part of it was run.
finish() {
    [ "$parts" -gt 0 ] || exit 77
    say "$parts parts run, $skips skipped"
}

# What of the programs named is missing, in words; empty if nothing is.
missing() {
    local program
    for program in "$@"; do
        command -v "$program" > /dev/null || { echo "$program is missing"; return; }
    done
}

# What keeps a file system from being used here; empty if nothing does.
unusable() {
    local why
    [ "$(id -u)" = 0 ] || { echo "not root"; return; }
    [ "$1" = tmpfs ] && return
    [ -e /dev/loop-control ] || { echo "no loop devices"; return; }
    why=$(missing losetup "mkfs.$1")
    [ -z "$why" ] || { echo "$why"; return; }
    grep -qw "$1" /proc/filesystems || modprobe "$1" 2> /dev/null || echo "the kernel has no $1"
}

# Makes a file system of kind $1 on the device or file $2.
format() {
    case $1 in
        ext4) mkfs.ext4 -q -F "$2" ;;
        xfs) mkfs.xfs -q -f -m reflink=1 "$2" ;;
        btrfs) mkfs.btrfs -q -f "$2" > /dev/null ;;
    esac
}

# A volume file for a file system of kind $1, empty; its name.
volume() {
    local bytes=64M file
    case $1 in xfs) bytes=320M ;; btrfs) bytes=160M ;; esac
    file=$(mktemp "$SCRATCH/volume.XXXXXX")
    truncate -s "$bytes" "$file"
    echo "$file"
}

# Sets `loop` to a loop device for the file $1.
attach() {
    loop=$(losetup -f --show "$1")
    loops+=("$loop")
}

# Mounts $1 (options before it) at a new directory; sets `at`.
mount_new() {
    at=$(mktemp -d "$SCRATCH/at.XXXXXX")
    mount "$@" "$at"
    mounts+=("$at")
}

# A fresh file system of kind $1, mounted; sets `at` and, but for tmpfs, `loop` and `file`.
fresh() {
    if [ "$1" = tmpfs ]; then
        mount_new -t tmpfs -o "size=${TMPFS_SIZE:-8m}" tmpfs
        return
    fi
    file=$(volume "$1")
    format "$1" "$file"
    attach "$file"
    mount_new -t "$1" "$loop"
}

# Gives up what `fresh` made, so that a long rig does not pile up.
stale() {
    umount "$at"
    [ "$1" = tmpfs ] || { losetup -d "$loop"; rm -f "$file"; }
    rmdir "$at"
}

# Takes all but about $2 KiB of the file system at $1, without writing it.
crowd() {
    local free
    sync -f "$1"
    free=$(df --output=avail -k "$1" | tail -1)
    [ "$free" -le "$2" ] || fallocate -l "$((free - $2))K" "$1/crowd"
}

# Runs a command in the background with its words in $1; sets `pid`.
background() {
    local words=$1
    shift
    "$@" > "$words" 2> "$words.errors" &
    pid=$!
    pids+=("$pid")
}

# Waits up to $1 seconds for the command $2...
until_true() {
    local end=$((SECONDS + $1))
    shift
    until "$@" 2> /dev/null; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.05
    done
}
