# Block write log: a child works on a file system whose every block write and flush is logged, and
# tells with each acknowledgement how long the log was. Images that a power cut could have left are
# made of the log, each is mounted, and its store compared with what was acknowledged by then.
# A child whose syncs do nothing and say that they did must be caught.
source "$(dirname "$0")/common.sh"

# look FS POLICY WRITES SEED SAID IMAGE PLACE: mounts an image and checks the store in it.
look() {
    local at device status=0
    device=$(losetup -f --show "$6")
    at=$(mktemp -d "$SCRATCH/look.XXXXXX")
    # A copy of a mounted XFS has its identity.
    if [ "$1" = xfs ]; then
        mount -o nouuid "$device" "$at" || status=2
    else
        mount "$device" "$at" || status=2
    fi
    if [ "$status" = 0 ]; then
        timeout 60 "$RIG" check "$at/ids" "$4" "$2" "$3" "$5" "$7" >> "$SCRATCH/checked" || status=1
        umount "$at"
    fi
    losetup -d "$device"
    rmdir "$at"
    return "$status"
}

if [ "${1:-}" = look ]; then
    trap - EXIT
    shift
    look "$@"
    exit
fi

# The sum of the numbers behind the word $1 in what the checks told.
sum() { grep -o "$1 [0-9]*" "$SCRATCH/checked" | awk '{ sum += $2 } END { print sum + 0 }'; }

for fs in ext4 xfs; do
    why=$(unusable "$fs")
    [ -n "$why" ] || why=$(missing qemu-storage-daemon fusermount3 python3)
    [ -n "$why" ] || [ -e /dev/fuse ] || why="no /dev/fuse"
    [ -z "$why" ] || { skip "$fs: $why"; continue; }
    for course in "always mapped" "always positioned" "interval positioned" "manual mapped" \
        "always positioned lying"; do
        read -r policy writes lying <<< "$course"
        under=()
        if [ -n "$lying" ]; then
            why=$(missing strace)
            [ -z "$why" ] || { skip "$fs $course: $why"; continue; }
            under=(strace -f -o /dev/null -e trace=fdatasync -e inject=fdatasync:retval=0)
        fi
        for ((round = 1; round <= ROUNDS; round++)); do
            seed=$RANDOM
            file=$(volume "$fs")
            format "$fs" "$file"
            cp --sparse=always "$file" "$SCRATCH/base"
            log=$(mktemp "$SCRATCH/log.XXXXXX")
            device=$(mktemp "$SCRATCH/device.XXXXXX")
            background "$SCRATCH/daemon" qemu-storage-daemon \
                --blockdev "driver=file,filename=$file,node-name=f" \
                --blockdev "driver=file,filename=$log,node-name=l" \
                --blockdev "driver=blklogwrites,file=f,log=l,node-name=w" \
                --export "type=fuse,id=e,node-name=w,mountpoint=$device,writable=on,growable=on"
            daemon=$pid
            until_true 10 mountpoint -q "$device" || fail "$fs: $(cat "$SCRATCH/daemon.errors")"
            attach "$device"
            mount_new -t "$fs" "$loop"
            sync -f "$at"
            first=$(stat -c %s "$log")
            said=$SCRATCH/said
            timeout 120 "${under[@]}" "$RIG" work "$at/ids" "$seed" 1 "$policy" "$writes" "$log" > "$said" \
                2> "$said.errors" || fail "$fs $course: $(cat "$said.errors")"
            umount "$at"
            losetup -d "$loop"
            kill "$daemon"
            wait "$daemon" 2> /dev/null || true
            : > "$SCRATCH/checked"
            told=$(timeout 600 python3 "$here/replay.py" "$SCRATCH/base" "$log" "$first" 16 "$seed" \
                "$SCRATCH/image" bash "$here/block_log.sh" look "$fs" "$policy" "$writes" "$seed" \
                "$said" "$SCRATCH/image" 2>&1) && caught= || caught=yes
            if [ -n "$lying" ]; then
                [[ -n $caught && $told == *"ended with 1"* ]] || fail "$fs: syncs that do nothing are not noticed: $told"
                told="caught after $(wc -l < "$SCRATCH/checked") images,"
            elif [ -n "$caught" ]; then
                fail "$fs $course, seed $seed: $told"
            fi
            say "$fs $course: $told acknowledged $(sum acknowledged) ids $(sum ids)" \
                "happened $(sum happened) did-not $(sum did-not)"
            parts=$((parts + 1))
            rm -f "$file" "$log" "$SCRATCH"/image*
        done
    done
done
finish
