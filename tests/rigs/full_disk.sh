# Full disk: children add until the last block is taken, with maps and with positioned writes.
#
# Each child is told of no space four times, answers on the full disk, clears, and goes on with the
# same handle when there is space; it is killed on the full disk, and the store is opened there.
# A second store is a copy whose zeros are holes, so that its slots have no space of their own.
source "$(dirname "$0")/common.sh"

# fill DIR NAME WRITES SEED BALLAST WORDS: a child to its end; a signal is a failure.
fill() {
    local status=0 name=$2
    exec 3<> "$SCRATCH/never-written"
    timeout 240 "$RIG" fill "$1" "$name" "$3" "$4" "$5" alone < "$SCRATCH/never-written" \
        > "$6" 2> "$6.errors" 3>&- &
    pid=$!
    pids+=("$pid")
    until_true 240 stopped "$6" || fail "$1 ($3): the child hangs: $(tail -c 300 "$6")"
    if grep -q '^@full' "$6"; then
        pkill -9 -P "$pid" && wait "$pid" || status=$?
        [ "$status" = 137 ] || fail "$1 ($3): status $status instead of a kill"
    else
        wait "$pid" || status=$?
        fail "$1 ($3, seed $4): status $status: $(cat "$6.errors")"
    fi
}

# Whether the child has said that it is done, or has ended.
stopped() { grep -q '^@full' "$1" || ! kill -0 "$pid"; }

mkfifo "$SCRATCH/never-written"
for fs in tmpfs ext4 xfs btrfs; do
    why=$(unusable "$fs")
    [ -z "$why" ] || { skip "$fs: $why"; continue; }
    for writes in mapped positioned auto; do
        # Not safe there, and so never chosen by itself: see docs/operations.md.
        [ "$fs $writes" != "btrfs mapped" ] || continue
        for ((seed = 1; seed <= ROUNDS; seed++)); do
            fresh "$fs"
            crowd "$at" 6000
            words=$SCRATCH/said-$fs-$writes-$seed
            mkdir "$at/ballast"
            fill "$at/ids" one "$writes" "$seed" "$at/ballast" "$words"
            full=$("$RIG" filled "$at/ids" "$writes" "one=$words") || fail "$fs, $writes: on the full disk"
            rm "$at"/ballast/*
            sync -f "$at"
            room=$("$RIG" filled "$at/ids" "$writes" "one=$words") || fail "$fs, $writes: with space again"
            [ "$full" = "$room" ] || fail "$fs, $writes: $full, then $room"

            cp -r --sparse=always "$at/ids" "$at/holes"
            rm -r "$at/ids"
            fill "$at/holes" two "$writes" "$seed" "$at/ballast" "$words-holes"
            holes=$("$RIG" filled "$at/holes" "$writes" "one=$words" "two=$words-holes") \
                || fail "$fs, $writes: with holes"
            say "$fs $writes: $room; with holes: $holes"
            parts=$((parts + 1))
            stale "$fs"
        done
    done
done
finish
