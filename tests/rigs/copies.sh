# Reflink copies: a stopped store and its copy share their blocks; children write on with both at
# once until the disk is full. Each keeps its own IDs, and no child ends by a signal.
#
# Mapped writes are tried on XFS too, where they are never chosen by themselves: a map takes its
# own blocks before it is used. A copy that is made under a map shares them again: what that does
# on a full disk is told, not judged.
source "$(dirname "$0")/common.sh"

mkfifo "$SCRATCH/never-written"
exec 3<> "$SCRATCH/never-written"

# begin DIR NAME WRITES SEED HOW: a filling child in the background; sets `pid`.
begin() {
    mkdir -p "$at/ballast-$2"
    # Of an earlier child of that name.
    rm -f "$SCRATCH/said-$2"
    "$RIG" fill "$at/$1" "$2" "$3" "$4" "$at/ballast-$2" "$5" < "$SCRATCH/never-written" \
        > "$SCRATCH/said-$2" 2> "$SCRATCH/said-$2.errors" 3>&- &
    pid=$!
    pids+=("$pid")
}

is_done() { grep -q '^@full' "$SCRATCH/said-$1" || ! kill -0 "$2" 2> /dev/null; }

# end NAME PID: waits until the child is done, then kills it; sets `status`.
end() {
    status=0
    until_true 240 is_done "$1" "$2" || fail "the child $1 hangs"
    # In braces, so that the shell's own word on a signal goes nowhere.
    {
        kill -9 "$2"
        wait "$2"
    } 2> /dev/null || status=$?
    if grep -q '^@stopped' "$SCRATCH/said-$1"; then stopped=$((stopped + 1)); fi
}

stopped=0
for fs in xfs btrfs; do
    why=$(unusable "$fs")
    [ -z "$why" ] || { skip "$fs: $why"; continue; }
    for writes in auto positioned mapped; do
        [ "$fs $writes" != "btrfs mapped" ] || continue
        for ((seed = 1; seed <= ROUNDS; seed++)); do
            fresh "$fs"
            crowd "$at" 20000
            begin ids base "$writes" "$seed" alone
            base=$pid
            end base "$base"
            [ "$status" = 137 ] || fail "$fs $writes: status $status: $(cat "$SCRATCH/said-base.errors")"
            rm "$at"/ballast-base/*
            sync -f "$at"
            # Opened and closed, so that the copy is one of a store that was stopped.
            "$RIG" open "$at/ids" > "$SCRATCH/opened" 2>&1 || fail "$fs: $(cat "$SCRATCH/opened")"
            cp -r --reflink=always "$at/ids" "$at/copy"
            begin ids a "$writes" "$seed" shared
            a=$pid
            begin copy b "$writes" "$((seed + 1))" shared
            b=$pid
            for one in a b; do
                end "$one" "${!one}"
                [ "$status" = 137 ] \
                    || fail "$fs $writes $one: status $status: $(cat "$SCRATCH/said-$one.errors")"
            done
            rm "$at"/ballast-[ab]/*
            sync -f "$at"
            of_a=$("$RIG" filled "$at/ids" "$writes" "base=$SCRATCH/said-base" "a=$SCRATCH/said-a" 2>&1) \
                || fail "$fs $writes, the first: $of_a"
            of_b=$("$RIG" filled "$at/copy" "$writes" "base=$SCRATCH/said-base" "b=$SCRATCH/said-b" 2>&1) \
                || fail "$fs $writes, the copy: $of_b"
            say "$fs $writes: the first $of_a; the copy $of_b"
            parts=$((parts + 1))
            stale "$fs"
        done
    done
done

# A copy under a map: the child is at work, and its files are copied again and again.
why=$(unusable xfs)
if [ -z "$why" ]; then
    fresh xfs
    crowd "$at" 20000
    begin ids base mapped 1 shared
    living=$pid
    for ((copy = 0; copy < 60; copy++)); do
        is_done base "$living" && break
        cp -r --reflink=always "$at/ids" "$at/copy-$copy" 2> /dev/null || true
        sleep 0.05
    done
    end base "$living"
    rm -rf "$at"/copy-* "$at"/ballast-base/*
    sync -f "$at"
    told=$("$RIG" filled "$at/ids" positioned "base=$SCRATCH/said-base" 2>&1) || fail "a copied map: $told"
    say "xfs, copied under a map on a full disk: status $status (135 is SIGBUS, 137 none); $told"
    parts=$((parts + 1))
else
    skip "a copy under a map: $why"
fi
say "stores that a full disk stopped: $stopped"
finish
