#!/usr/bin/env bash
# P1, P2: a path that is listed for reading shows that path alone: nothing beside it, nothing that
# its links point to, and nothing of it can be changed.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir -p ws shown/sub beside
secret="secret-$(unique)"
echo "$secret" > beside/secret
echo public > shown/file
ln -s "$PWD/beside/secret" shown/link
ln -s ../beside shown/up
nacre run -w ws --read-path "$PWD/shown" "cat $PWD/shown/file"
like 'control: it is shown' "$out" public
nacre run -w ws --read-path "$PWD/shown" "cat $PWD/shown/link $PWD/shown/up/secret $PWD/beside/secret $PWD/shown/../beside/secret; ls -A $PWD; cd $PWD/shown && cat ../beside/secret; echo looked"
unlike 'nothing beside it is' "$out$err" "*$secret*"
unlike 'not even its name' "$out" '*beside*'
like 'control: it looked' "$out" '*looked'
before=$(find shown -printf '%p %s %T@ %m\n' | sort)
nacre run -w ws --read-path "$PWD/shown" "cd $PWD/shown && { echo harm > file; echo harm > new; rm -rf sub file; chmod 777 . file; mv file moved; ln file $PWD/ws/hard; touch -d 2001-01-01 file; }; true"
is 'and it cannot be changed' "$(find shown -printf '%p %s %T@ %m\n' | sort)" "$before"
is 'nor linked to' "$(ls ws)" ''
nacre run -w ws "cat $PWD/shown/file"
unlike 'control: what is not listed is not there' "$out" '*public*'

done_testing
