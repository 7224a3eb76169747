# Bytes on the device: what one synced add of 36 bytes sends there, counted by the block layer. Less
# than 64 KiB, but on btrfs, which writes its trees anew: zeros written in large calls would make it
# megabytes under a map.
source "$(dirname "$0")/common.sh"

for fs in ext4 xfs btrfs; do
    why=$(unusable "$fs")
    [ -z "$why" ] || { skip "$fs: $why"; continue; }
    for writes in mapped positioned; do
        fresh "$fs"
        told=$(timeout 300 "$RIG" cost "$at/ids" "$writes" $((ROUNDS * 500)) \
            "/sys/block/${loop#/dev/}/stat" 2>&1) || fail "$fs $writes: $told"
        say "$fs $writes: $told"
        bytes=${told%% *}
        [ "$fs" = btrfs ] || [ "$bytes" -lt 65536 ] || fail "$fs $writes: that is too much"
        parts=$((parts + 1))
        stale "$fs"
    done
done
finish
