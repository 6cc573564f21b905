#!/usr/bin/env bash
# P1, P2: the home that a command sees is empty and its own, whatever its path is: nothing of it is
# read from the host, nothing written there.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

home=$scratch/home
mkdir -p "$home/.ssh" "$home/.config/nacre" ws
secret="secret-$(unique)"
echo "$secret" | tee "$home/.ssh/id_rsa" "$home/.netrc" "$home/.bash_history" > "$home/.gitconfig"
echo "echo $secret" | tee "$home/.bashrc" "$home/.bash_profile" "$home/.profile" > "$home/.bash_logout"
chmod -R go-rwx "$home"
chmod 755 "$scratch"
before=$(find "$home" -printf '%p %s %T@ %m\n' | sort)
export HOME=$home
like 'control: a shell of the host reads it' "$(bash -lc 'cat ~/.netrc')" "*$secret*"
nacre run -w ws "cat ~/.netrc ~/.ssh/id_rsa $home/.netrc \$HOME/.gitconfig 2>/dev/null; bash -lc 'echo login'; bash -ic 'echo interactive' 2>/dev/null; git config --global --list 2>/dev/null; ls -A ~; echo looked"
unlike 'inside nothing of it is there' "$out$err" "*$secret*"
like 'control: it looked' "$out" '*login*interactive*looked'
nacre run -w ws "mkdir -p ~/.ssh ~/.config/systemd/user ~/.local/bin; for f in .bashrc .profile .ssh/authorized_keys .config/systemd/user/x.service .netrc .local/bin/ls; do echo harm > ~/\$f; echo harm > $home/\$f; done 2>/dev/null; cat ~/.bashrc"
like 'control: it could be written inside' "$out" '*harm*'
is 'on the host it is what it was' "$(find "$home" -printf '%p %s %T@ %m\n' | sort)" "$before"
nacre run -w ws 'cat ~/.bashrc ~/.profile 2>/dev/null; true'
prints 'and is empty again for the next run' ''

done_testing
