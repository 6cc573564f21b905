#!/usr/bin/env bash
# Not through a daemon.
# L8, X1 in landlock strength, where the guard is the one that traces.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/escape/exec/lib.bash
. "$(dirname "$0")/lib.bash"

umask 022
inner=$((20000 + $(id -u)))
cat > "$scratch/none" << END
#!/bin/sh
exec unshare -Ur sh -c 'echo 1 > /proc/sys/user/max_user_namespaces || exit 99
exec unshare -U --map-user=$inner --map-group=$inner "\$@"' none "\$@"
END
chmod 755 "$scratch" "$scratch/none"
if ! "$scratch/none" true; then
    skip 'landlock strength' 'a namespace without namespaces cannot be made here'
    done_testing
fi
printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$scratch/none" "$JUDGE" > "$scratch/nacre"
chmod 755 "$scratch/nacre"
export JUDGE=$scratch/nacre
printf 'strength: landlock\naccept_irreversible: true\n' >> "$scratch/policy.yaml"

judged 'ls; true'
is 'it is landlock strength' "$(jq -r .strength <<< "$result")" landlock
like 'what runs is in the list' "$(jq -c .executed <<< "$result")" '*{"argv":\["ls"\],"exit_code":0}*'
cp /usr/bin/touch copy
for way in plain other descriptor proc threads orphan vfork spawn clone; do
    stopped "$way" "./attack_exec $way /usr/bin/touch mark" '*"mark"]*'
done
stopped 'a copy' './copy mark' '*"./copy","mark"*'
rm -f mark
judged './copy mark'
refute 'a copy that is the whole text does not run' test -e mark

done_testing
