# Failing device: every write to the device is an error from a random moment on. The child is told,
# nothing is acknowledged afterwards; the device heals, is mounted again, and all acknowledged is
# there.
source "$(dirname "$0")/common.sh"

for fs in ext4 xfs; do
    why=$(unusable "$fs")
    [ -n "$why" ] || why=$(missing nbdkit nbdfuse fusermount3)
    [ -n "$why" ] || [ -e /dev/fuse ] || why="no /dev/fuse"
    [ -z "$why" ] || { skip "$fs: $why"; continue; }
    for course in "always mapped" "always positioned" "manual positioned"; do
        read -r policy writes <<< "$course"
        file=$(volume "$fs")
        format "$fs" "$file"
        device=$(mktemp "$SCRATCH/device.XXXXXX")
        trigger=$SCRATCH/fail-now
        rm -f "$trigger"
        background "$SCRATCH/nbd" nbdfuse "$device" --command nbdkit -s --filter=error file "$file" \
            error-pwrite=EIO error-pwrite-rate=100% "error-file=$trigger"
        served=$pid
        until_true 10 mountpoint -q "$device" || fail "$fs: no device: $(cat "$SCRATCH/nbd.errors")"
        mounts+=("$device")
        attach "$device"
        mount_new -t "$fs" "$loop"
        told=$(timeout 300 "$RIG" lives "$at/ids" "$RANDOM" "$policy" "$writes" $((ROUNDS * 4)) \
            "touch '$trigger'" "rm '$trigger' && umount '$at' && mount '$loop' '$at'" 2>&1) \
            || fail "$fs $course: $told"
        say "$fs $course: $told"
        parts=$((parts + 1))
        umount "$at"
        losetup -d "$loop"
        fusermount3 -u "$device"
        wait "$served" 2> /dev/null || true
        rm "$file"
    done
done
finish
