#!/usr/bin/env bash
# P2, L5: host uid 0 is never mapped in, whoever starts us.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

nacre run 'cat /proc/self/uid_map; echo; cat /proc/self/gid_map; id -u; id -G'
read -r inner outer count <<< "$(sed -n 1p <<< "$out")"
is 'one user is mapped' "$inner $count" '1000 1'
unlike 'it is not root (L5)' "$outer" 0
read -r inner outer count <<< "$(sed -n 3p <<< "$out")"
is 'one group is mapped' "$inner $count" '1000 1'
unlike 'it is not root'"'"'s (L5)' "$outer" 0
is 'nobody has more groups' "$(tail -1 <<< "$out")" 1000
nacre run 'cat /proc/self/setgroups; stat -c %u /usr/bin /proc/sys | sort -u'
is 'setgroups is denied, root is nobody' "$out" $'deny\n65534'
if [ "$(id -u)" = 0 ]; then
    nacre run 'sleep 3 & sed -n "s/^ *1000 *//p" /proc/self/uid_map'
    unlike 'root'"'"'s run is not that of an ordinary user either' "${out%% *}" "$(id -u "$TEST_USER")"
    tag=$(unique)
    "$NACRE" run "sleep $tag; :" &
    pid=$!
    check 'control: it is up' wait_until 10 alive "^sleep $tag"
    for p in $(pgrep -f "^sleep $tag"); do
        unlike 'its processes are not root'"'"'s on the host' "$(awk '/^Uid:/ {print $2, $3, $4, $5}' "/proc/$p/status")" '*\ 0 *'
        unlike 'nor with root at all' " $(awk '/^Uid:/ {print $2, $3, $4, $5}' "/proc/$p/status") " '* 0 *'
    done
    # shellcheck disable=SC2046 # numbers
    is 'two runs are two users' "$("$NACRE" run 'cat /proc/self/uid_map' | awk '{print $2}' > "$scratch/a"; "$NACRE" run 'cat /proc/self/uid_map' | awk '{print $2}' > "$scratch/b"; cmp -s "$scratch/a" "$scratch/b" && echo same)" ''
    kill "$pid"
    wait "$pid"
fi

done_testing
