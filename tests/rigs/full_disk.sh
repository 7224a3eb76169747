# Full disk: children add until the last block is taken, with maps and with positioned writes.
#
# Each child is told of no space four times, answers on the full disk, clears, and goes on with the
# same handle when there is space; it is killed on the full disk, and the store is opened there.
# A second store is a copy whose zeros are holes, so that its slots have no space of their own.
source "$(dirname "$0")/common.sh"

# fill DIR NAME WRITES SEED BALLAST WORDS HOW: a child until it has seen all; a signal is a failure.
fill() {
    local status=0
    "$RIG" fill "$1" "$2" "$3" "$4" "$5" "$7" < "$SCRATCH/never-written" > "$6" 2> "$6.errors" 3>&- &
    pid=$!
    pids+=("$pid")
    until_true 240 is_done "$6" || fail "$1 ($3): the child hangs: $(tail -c 300 "$6")"
    kill -9 "$pid" 2> /dev/null || true
    wait "$pid" 2> /dev/null || status=$?
    grep -q '^@full' "$6" || fail "$1 ($3, seed $4): status $status: $(cat "$6.errors")"
    [ "$status" = 137 ] || fail "$1 ($3): status $status instead of a kill"
    if grep -q '^@stopped' "$6"; then stopped=$((stopped + 1)); fi
}

# Whether the child has said that it is done, or has ended.
is_done() { grep -q '^@full' "$1" || ! kill -0 "$pid" 2> /dev/null; }

# The input of a child: it never ends, so that a child stays until it is killed.
unopened=0 stopped=0
mkfifo "$SCRATCH/never-written"
exec 3<> "$SCRATCH/never-written"
for fs in ${FILE_SYSTEMS:-tmpfs ext4 xfs btrfs}; do
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
            fill "$at/ids" one "$writes" "$seed" "$at/ballast" "$words" alone
            full=$("$RIG" filled "$at/ids" "$writes" "one=$words" 2>&1) || {
                # There writing over what is there takes space, so that recovery may have none.
                [[ $fs == btrfs && $full == *"no space for what recovery"* ]] \
                    || fail "$fs, $writes: on the full disk: $full"
                unopened=$((unopened + 1)) full=
            }
            rm "$at"/ballast/*
            sync -f "$at"
            room=$("$RIG" filled "$at/ids" "$writes" "one=$words" 2>&1) \
                || fail "$fs, $writes: with space again: $room"
            [ -z "$full" ] || [ "$full" = "$room" ] || fail "$fs, $writes: $full, then $room"

            cp -r --sparse=always "$at/ids" "$at/holes"
            rm -r "$at/ids"
            fill "$at/holes" two "$writes" "$seed" "$at/ballast" "$words-holes" holes
            rm "$at"/ballast/*
            sync -f "$at"
            holes=$("$RIG" filled "$at/holes" "$writes" "one=$words" "two=$words-holes" 2>&1) \
                || fail "$fs, $writes: with holes: $holes"
            say "$fs $writes: $room; with holes: $holes"
            parts=$((parts + 1))
            stale "$fs"
        done
    done
done
say "opens for which a full disk had no space: $unopened; stores that it stopped: $stopped"
finish
