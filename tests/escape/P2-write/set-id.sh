#!/usr/bin/env bash
# P2: no file with a set-id bit is left in the workspace: by root it would be root's rights for whoever finds it.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack" .
mkdir ws theirs
cp attack ws/
nacre run -w ws './attack set-id .; cp /bin/bash a; chmod u+s a; chmod 4755 a; chmod g+s a; install -m 6755 /bin/bash b; cp -p /usr/bin/su c; cp -a /usr/bin/passwd d; (umask 0; tar cf - -C /usr/bin su | tar xpf -); echo tried'
like 'control: it was tried' "$out" '*done*tried'
check 'control: files were made' test -e ws/a -a -e ws/b -a -e ws/set-id-fchmod-4755
is 'no file has a set-user-id bit' "$(find ws -type f -perm /4000)" ''
if [ "$(id -u)" = 0 ]; then
    is 'by root none has a set-group-id bit either' "$(find ws -type f -perm /2000)" ''
    chmod 755 .
    chown "$TEST_USER" theirs
    cp attack theirs/
    nacre run -w theirs './attack set-id .; echo tried'
    is 'nor in a workspace of somebody else' "$(find theirs -type f -perm /6000)" ''
fi
nacre run -w ws 'touch p; chmod 755 p; chmod 1777 p; chmod 600 p; mkdir q; chmod 1777 q'
exits 'control: every other mode can be given' 0
if [ "$(id -u)" != 0 ]; then
    nacre run -w ws 'mkdir shared && chmod 2775 shared && chmod -R u+rwX shared'
    exits "a user's shared directory may have its set-group-id bit" 0
fi
nacre run -w ws 'cp /bin/bash e; setcap cap_sys_admin+ep e 2>/dev/null; setfattr -n security.capability -v 0sAAAAAgAgAAAAAAAAAAAAAAAAAAA= e 2>/dev/null; getfattr -d -m - e 2>/dev/null; true'
is 'nor file capabilities' "$(getcap -r ws 2> /dev/null)" ''

done_testing
