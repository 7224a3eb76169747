# Power cut: the file system is shut down without its log at a random moment of a child's life, then
# mounted again, and the next child tells what it finds.
source "$(dirname "$0")/common.sh"

for fs in ext4 xfs; do
    why=$(unusable "$fs")
    [ -n "$why" ] || why=$(missing python3)
    [ -z "$why" ] || { skip "$fs: $why"; continue; }
    for policy in always interval manual; do
        for writes in mapped positioned; do
            fresh "$fs"
            told=$(timeout 600 "$RIG" lives "$at/ids" "$((RANDOM))" "$policy" "$writes" $((ROUNDS * 5)) \
                "python3 '$here/shut_down.py' '$at'" "umount '$at' && mount '$loop' '$at'" 2>&1) \
                || fail "$fs $policy $writes: $told"
            say "$fs $policy $writes: $told"
            parts=$((parts + 1))
            stale "$fs"
        done
    done
done
finish
