#!/usr/bin/env bash
# Toolchains in the caller's home: programs run by their bare names, are shown read-only, and nothing
# else of the home comes with them.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

umask 022
here=$PWD
secret="secret-$(unique)"
home=$here/home
system=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mkdir -p "$home" ws ws/bin
export HOME=$home

program() { # FILE WORD: a program that prints the word
    mkdir -p "$(dirname "$1")"
    printf '#!/bin/sh\necho %s "$@"\n' "$2" > "$1"
    chmod 755 "$1"
}
secret_in() { # FILE…
    local file
    for file in "$@"; do
        mkdir -p "$(dirname "$home/$file")"
        echo "$secret" > "$home/$file"
    done
}

# --- what people have ---------------------------------------------------------------------------------

# pyenv: shims that look for versions by PYENV_ROOT.
program "$home/.pyenv/versions/3.9/bin/mypython" 'python 3.9'
mkdir -p "$home/.pyenv/shims"
printf '#!/bin/sh\nexec "${PYENV_ROOT:-$HOME/.pyenv}/versions/3.9/bin/mypython" shim\n' > "$home/.pyenv/shims/mypython"
chmod 755 "$home/.pyenv/shims/mypython"
# nvm, cargo with rustup, asdf, pipx behind ~/.local/bin, an own ~/bin and ~/go.
program "$home/.nvm/versions/node/v1/bin/mynode" 'node v1'
program "$home/.rustup/toolchains/stable/bin/rustc" 'rustc stable'
mkdir -p "$home/.cargo/bin" "$home/.cargo/registry/src"
printf '#!/bin/sh\nexec "${RUSTUP_HOME:-$HOME/.rustup}/toolchains/stable/bin/rustc" "$@"\n' > "$home/.cargo/bin/myrustc"
chmod 755 "$home/.cargo/bin/myrustc"
echo crate > "$home/.cargo/registry/src/crate"
program "$home/.asdf/installs/ruby/3/bin/myruby" 'ruby 3'
mkdir -p "$home/.asdf/shims"
printf '#!/bin/sh\nexec "$HOME/.asdf/installs/ruby/$(sed "s/ruby //" "$HOME/.tool-versions")/bin/myruby"\n' > "$home/.asdf/shims/myruby"
chmod 755 "$home/.asdf/shims/myruby"
echo 'ruby 3' > "$home/.tool-versions"
program "$home/.local/share/pipx/venvs/tool/bin/mytool" 'pipx tool'
mkdir -p "$home/.local/bin"
ln -s "$home/.local/share/pipx/venvs/tool/bin/mytool" "$home/.local/bin/mytool"
program "$home/.local/bin/mylocal" 'local'
program "$home/bin/mybin" 'own bin'
program "$home/go/bin/mygo" 'go bin'
program "$home/.sdkman/candidates/java/17/bin/myjava" 'java 17'

secret_in .cargo/credentials.toml .cargo/credentials .cargo/config.toml .nvm/.npmrc .npmrc .netrc .ssh/id_rsa .aws/credentials \
    .sdkman/etc/config .local/share/keyrings/login .config/gh/hosts.yml go/private bin-not-on-path/file .bash_history Documents/file \
    .local/share/other/file .local/state/file .condarc .pypirc .docker/config.json

user_path=$home/.pyenv/shims:$home/.nvm/versions/node/v1/bin:$home/.cargo/bin:$home/.asdf/shims:$home/.local/bin:$home/bin:$home/go/bin:$home/.sdkman/candidates/java/17/bin
export PATH=$user_path:$system
export NVM_DIR=$home/.nvm SDKMAN_DIR=$home/.sdkman PYENV_ROOT=$home/.pyenv

for each in 'mypython:python 3.9 shim' 'mynode:node v1' 'myrustc:rustc stable' 'myruby:ruby 3' 'mytool:pipx tool' \
    'mylocal:local' 'mybin:own bin' 'mygo:go bin' 'myjava:java 17'; do
    nacre run -w ws "${each%%:*}"
    prints "${each%%:*} is found and runs" "${each#*:}"
done
nacre run -w ws 'cat ~/.cargo/registry/src/crate; command -v mypython; echo "$PYENV_ROOT $NVM_DIR"'
prints 'with the rest of it, by the same paths and variables' "crate"$'\n'"$home/.pyenv/shims/mypython"$'\n'"$home/.pyenv $home/.nvm"
nacre run -w ws 'echo "$PATH"'
prints 'PATH has the order of the caller' "$user_path:$system"

nacre run -w ws "find ~ $home -type f 2>/dev/null | grep -v -e /bin/ -e /shims/ -e registry -e tool-versions; grep -rsl '$secret' ~ $here; cat ~/.cargo/credentials* ~/.cargo/config.toml ~/.nvm/.npmrc ~/.npmrc ~/.ssh/* ~/.sdkman/etc/config ~/.config/gh/hosts.yml; ls -A ~; true" 2> /dev/null
unlike 'no credentials beside them' "$out" "*$secret*"
unlike 'no other file of the home' "$out" "*/file*"
for name in .ssh .aws .netrc .npmrc .bash_history Documents bin-not-on-path .config .docker .condarc; do
    unlike "$name of the home is not there" " ${out//$'\n'/ } " "* $name *"
done

before=$(find "$home" -printf '%p %s %m %T@\n' | sort)
nacre run -w ws 'for f in ~/.pyenv/shims/mypython ~/.nvm/versions/node/v1/bin/mynode ~/.cargo/bin/myrustc ~/.local/bin/mylocal ~/bin/mybin ~/.tool-versions; do echo harm > $f; chmod 777 $f; rm -f $f; mv $f $f.gone; d=$(dirname $f); echo harm > $d/harm; done; rm -rf ~/.pyenv ~/.cargo ~/bin; mkdir -p ~/.cargo/new; true' 2> /dev/null
is 'all of it is read-only' "$(find "$home" -printf '%p %s %m %T@\n' | sort)" "$before"
nacre run -w ws 'echo mine > ~/file && mkdir -p ~/.cache/x ~/.config && echo y > ~/.cache/x/y && cat ~/file ~/.cache/x/y'
prints 'the home around them can be written, for the run' $'mine\ny'
check 'and is not that of the host' test ! -e "$home/file" -a ! -e "$home/.cache"

# --- order and places -----------------------------------------------------------------------------------

program "$home/bin/uname" 'my own uname'
PATH=$home/bin:$system nacre run -w ws uname
prints 'a program before the system is taken before it' 'my own uname'
PATH=$system:$home/bin nacre run -w ws uname
prints 'and behind it, behind it' Linux
PATH=/usr/bin:$home/bin:/bin nacre run -w ws 'echo "$PATH"'
prints 'what of the system is missing comes last' "/usr/bin:$home/bin:/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin"
rm "$home/bin/uname"

program ws/bin/trap 'from the workspace'
program ws/trap 'from the workspace'
mkdir -p "$home/project/bin"
program "$home/project/bin/trap" 'from the workspace'
PATH=$here/ws/bin:$here/ws:bin:.::$home/bin:$system nacre run -w ws 'echo "$PATH"; command -v trap; type -a trap'
like 'directories of the workspace are never on PATH, nor are relative ones' "$out" "$home/bin:$system"$'\n'*
unlike 'so no program there is taken by its bare name' "$out" '*ws*'
PATH=$home/project/bin:$home/project:$system nacre run -w "$home/project" 'echo "$PATH"'
prints 'also when it lies in the home' "$system"
ln -s "$here/ws/bin" "$home/innocent"
PATH=$home/innocent:$system nacre run -w ws 'echo "$PATH"'
prints 'nor by a link' "$system"
ln -s "$home/.ssh" ws/tools
PATH=$here/ws/tools:$system nacre run -w ws "cat $here/ws/tools/id_rsa ~/.ssh/id_rsa"
unlike 'a link in the workspace shows nothing' "$out" "*$secret*"
mkdir -p "$scratch/open" /tmp/nacre-test-path.$$
PATH=/tmp/nacre-test-path.$$:/var/tmp:/dev/shm:/run:/nowhere:$system nacre run -w ws 'echo "$PATH"'
prints 'nor are places that others can write to' "$system"
rmdir /tmp/nacre-test-path.$$
chmod 777 "$home/go/bin"
PATH=$home/go/bin:$system nacre run -w ws 'mygo 2>/dev/null; echo "$PATH"'
prints 'a directory of the home that others can write to is left out' "$system"
chmod 755 "$home/go/bin"
for path in "$home" "$here" "$home/.ssh" "$home/.config/gh" / "$home/Documents" "$home/.local"; do
    PATH=$path:$system nacre run -w ws "echo \"\$PATH\"; cat ~/.ssh/id_rsa ~/.netrc ~/.config/gh/hosts.yml $home/Documents/file 2>/dev/null"
    is "PATH with $(basename "$path") in it shows nothing of that" "$out" "$system"
done

# A toolchain that lies elsewhere.
mkdir "$scratch/data"
mv "$home/.pyenv" "$scratch/data/pyenv"
chmod 755 "$scratch"
ln -s "$scratch/data/pyenv" "$home/.pyenv"
nacre run -w ws 'mypython'
if [ "$out" = 'python 3.9 shim' ]; then ok 'a toolchain that is a link to elsewhere'; else
    # /tmp is nobody's place for programs; say so where that is the reason.
    case $scratch in
    /tmp/*) unlike 'a toolchain that is a link to /tmp is not followed' "$out" '*3.9*' ;;
    *) not_ok 'a toolchain that is a link to elsewhere' "$out" "$err" ;;
    esac
fi
rm "$home/.pyenv"
mkdir "$home/disk"
mv "$scratch/data/pyenv" "$home/disk/pyenv"
echo "$secret" > "$home/disk/file"
ln -s disk/pyenv "$home/.pyenv"
nacre run -w ws 'mypython; cat ~/disk/file 2>/dev/null; ls -A ~/disk'
is 'a toolchain that is a link within the home' "$out" $'python 3.9 shim\npyenv'
PYENV_ROOT=$home/disk/pyenv PATH=$home/disk/pyenv/shims:$system nacre run -w ws 'mypython; echo "$PYENV_ROOT"'
prints 'one that a variable names' "python 3.9 shim"$'\n'"$home/disk/pyenv"
mkdir -p "$home/disk/pyenv/versions/3.12/bin"
printf '#!/bin/sh\necho python 3.12 itself\n' > "$home/disk/pyenv/versions/3.12/bin/mypython"
chmod 755 "$home/disk/pyenv/versions/3.12/bin/mypython"
echo 3.12 > "$home/disk/pyenv/version"
PATH=$home/.pyenv/shims:$system nacre run -w ws 'mypython'
prints 'the version that a shim would come to stands before it' 'python 3.12 itself'
printf '../../../../bin\n' > ws/.python-version
PATH=$home/.pyenv/shims:$system nacre run -w ws 'mypython; case $PATH in *..*) echo climbed ;; esac'
prints 'a version of the workspace is a name and no path' 'python 3.9 shim'
rm ws/.python-version "$home/disk/pyenv/version"
PYENV_ROOT=$home/.ssh GOROOT=$home JAVA_HOME=$home/Documents nacre run -w ws 'echo "$PYENV_ROOT$GOROOT$JAVA_HOME"; cat ~/.ssh/id_rsa ~/Documents/file'
unlike 'a variable that names a place of secrets shows nothing' "$out$err" "*$secret*"
is 'and is not passed' "$out" ''

# --- off ------------------------------------------------------------------------------------------------

printf 'toolchains: off\n' > "$scratch/off"
nacre run -w ws --config "$scratch/off" 'echo "$PATH$PYENV_ROOT"; ls -A ~; mybin 2>/dev/null; mypython 2>/dev/null; true'
prints 'toolchains: off in a configuration hides them' "$system"
mkdir -p "$home/.config/nacre/agents" ws2/.nacre
printf 'shell:\n  allow: [mybin, ls, echo]\n' > "$home/.config/nacre/agents/with.yaml"
printf 'toolchains: off\nshell:\n  allow: [mybin, ls, echo]\n' > "$home/.config/nacre/agents/without.yaml"
chmod -R go-w "$home/.config"
"$JUDGE" run --agent with -w ws 'mybin' > "$scratch/out" 2> "$scratch/err"
is 'an agent has them' "$? $(cat "$scratch/out")" '0 own bin'
"$JUDGE" run --agent without -w ws 'mybin' > "$scratch/out" 2> "$scratch/err"
is 'an agent with toolchains: off does not' "$? $(cat "$scratch/out")" '127 '
printf 'toolchains: off\n' > ws2/.nacre/config.yaml
nacre run -w ws2 'mybin'
exits 'a project can switch them off' 127
printf 'toolchains: auto\n' > ws2/.nacre/config.yaml
nacre run -w ws2 --config "$scratch/off" 'mybin'
unlike 'but not on' "$out" '*own bin*'

unset PYENV_ROOT NVM_DIR SDKMAN_DIR
env -u PATH "$NACRE" run -w ws 'echo "$PATH"' > "$scratch/out" 2>&1
is 'without PATH there is the system' "$(cat "$scratch/out")" "$system"
HOME=relative PATH=$home/bin:$system nacre run -w ws 'echo "$PATH"; echo "$HOME"'
like 'a HOME that is no absolute path means no toolchains' "$out" "$system"$'\n'/*

done_testing
