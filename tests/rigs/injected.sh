# Injected errors: one system call of a child is an error at a random time, as strace makes it. The
# caller is told, nothing is acknowledged after a failed write or sync, and all acknowledged is found
# when the store is opened again.
source "$(dirname "$0")/common.sh"

why=$(missing strace)
if [ -n "$why" ]; then
    skip "$why"
    finish
fi
if ! strace -f -o /dev/null -e trace=fdatasync true 2> /dev/null; then
    skip "strace may not trace here"
    finish
fi

# What is injected, and what the child must say: "error" where a call fails, "none" where it is one
# to go on after, "kill" where it dies.
for injection in fdatasync:error=EIO=error fsync:error=EIO=error pwrite64:error=EIO=error \
    pwrite64:error=ENOSPC=any fdatasync:error=ENOSPC=error fdatasync:error=EDQUOT=error \
    pwrite64:error=EINTR=none fdatasync:error=EINTR=none fdatasync:signal=KILL=kill \
    pwrite64:signal=KILL=kill; do
    expected=${injection##*=} inject=${injection%=*}
    told_errors=0 total=0
    for writes in mapped positioned; do
        for ((round = 0; round < ROUNDS * 3; round++)); do
            directory=$(mktemp -d "$SCRATCH/ids.XXXXXX")
            said=$SCRATCH/said seed=$RANDOM status=0
            # Calls are counted for each thread; the first ones are those of the opening.
            nth=$((1 + RANDOM % 60))
            case $expected in none) nth=$nth+3 ;; esac
            [[ $inject != fsync:* ]] || nth=$((1 + RANDOM % 12))
            # In braces, so that the shell's own word on a kill goes nowhere.
            {
                timeout 120 strace -f -o /dev/null -e "trace=${inject%%:*}" \
                    -e "inject=$inject:when=$nth" "$RIG" work "$directory/ids" "$seed" 1 always \
                    "$writes" > "$said" 2> "$said.errors"
            } 2> /dev/null || status=$?
            place="$inject:when=$nth, $writes, seed $seed"
            case $expected:$status in
                kill:0 | kill:137 | [aen]*:0) ;;
                *) fail "$place: status $status: $(cat "$said.errors")" ;;
            esac
            if grep -q '^@error' "$said"; then
                told_errors=$((told_errors + 1))
                [ "$expected" != none ] || fail "$place: $(grep -m1 '^@error' "$said")"
            fi
            ! grep -q DAMAGED "$said" || fail "$place: $(grep -m1 DAMAGED "$said")"
            total=$((total + 1))
            if grep -q '^@work' "$said"; then
                checked=$("$RIG" check "$directory/ids" "$seed" always "$writes" "$said" 2>&1) \
                    || fail "$place: $checked"
            fi
            rm -r "$directory"
        done
    done
    case $expected in
        error) [ "$told_errors" -gt $((total / 3)) ] || fail "$inject: only $told_errors of $total lives were told" ;;
    esac
    say "$inject: $total lives, $told_errors told of an error"
    parts=$((parts + 1))
done
finish
