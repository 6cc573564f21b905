#!/usr/bin/env bash
# A1 to A5: answers that nobody gave, gave for something else, or gave once; links; and a held run that is committed.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
NACRE=$JUDGE
export XDG_CONFIG_HOME=$scratch/config
config=$XDG_CONFIG_HOME/nacre/config.yaml
mkdir -p ws/sub other "${config%/*}"
folder=$XDG_STATE_HOME/nacre/questions
harm() { rm -f ws/harm ws/sub/harm other/harm; }
try() { # the call that asks
    "$NACRE" run -w ws 'python3 -c "open(\"harm\", \"w\")"' < /dev/null > "$scratch/out" 2>&1
}
id_of() { "$NACRE" pending --json | jq -r '.[-1].id'; }
safe() { # NAME
    if [ ! -e ws/harm ] && [ ! -e ws/sub/harm ] && [ ! -e other/harm ]; then ok "$1"; else not_ok "$1" "$(cat "$scratch/out")"; fi
    harm
}

# --- without a key: files that are no answers ---------------------------------------------------

try
id=$(id_of)
binding=$(jq -r .binding "$folder/$id.question")
forge() { # JQ-FILTER [MODE]: a whole answer, changed
    # What was too late has taken its question with it.
    if [ ! -e "$folder/$id.question" ] && [ ! -L "$folder" ]; then
        try
        id=$(id_of)
    fi
    jq -cn --arg id "$id" --arg binding "$binding" \
        '{version: 1, id: $id, binding: $binding, answer: "yes", scope: "job", time_ms: (now * 1000 | floor), expires_ms: 9000000000000, by: "x"}' |
        jq -c "$1" > "$scratch/forged"
    rm -rf "$folder/$id.answer"
    install -m "${2:-600}" "$scratch/forged" "$folder/$id.answer"
}
for change in 'del(.binding)' '.binding = ("0" * 64)' '.id = "00000000-0000-4000-8000-000000000000"' '.answer = "YES"' '.answer = true' \
    '.time_ms = 1' '.expires_ms = 1' '.expires_ms = -1' '.expires_ms = 1e300' '.version = 2' '.scope = "ever"' '.more = 1' '.by = null' '[.]' '"yes"'; do
    forge "$change"
    try
    safe "an answer with $change"
done
for mode in 644 660 606; do
    forge . $mode
    try
    safe "an answer with the mode $mode"
done
forge .
mv "$folder/$id.answer" "$scratch/elsewhere"
ln -s "$scratch/elsewhere" "$folder/$id.answer"
try
safe 'a link to an answer'
rm "$folder/$id.answer"
mkfifo -m 600 "$folder/$id.answer"
check 'a pipe keeps nobody waiting' timeout 20 "$NACRE" pending
try
safe 'nor is it an answer'
rm "$folder/$id.answer"
mkdir -m 700 "$folder/$id.answer"
try
safe 'nor is a directory'
rmdir "$folder/$id.answer"
printf 'x%.0s' {1..70000} > "$folder/$id.answer"
chmod 600 "$folder/$id.answer"
try
safe 'nor a file without an end'
rm "$folder/$id.answer"
mv "$folder" "$folder.real"
ln -s "$folder.real" "$folder"
forge . 2> /dev/null
try
safe 'questions behind a link'
like 'which is refused' "$(cat "$scratch/out")" '*cannot open*questions*'
rm "$folder"
mv "$folder.real" "$folder"
rm -f "$folder/$id.answer"
chmod 755 "$folder"
forge .
try
safe 'a directory that others can look into'
chmod 700 "$folder"
if [ "$(id -u)" -eq 0 ]; then
    forge .
    chown 12345 "$folder/$id.answer"
    try
    safe "an answer that is another user's file"
    rm -f "$folder/$id.answer"
fi
# What holds without a key: a program of the same user that writes a whole answer is believed, as SECURITY.md says.
forge .
try
check 'control: an answer that is whole counts' test -e ws/harm
harm
rm -f "$folder/$id".*

# --- an answer for something else ---------------------------------------------------------------

try
"$NACRE" approve --yes "$(id_of)" > /dev/null
for option in '--cwd sub' '--agent coder' '--profile full-auto --limit files=77' '--limit files=50' '--read-path /srv' '--session s'; do
    # shellcheck disable=SC2086 # words
    "$NACRE" run -w ws $option 'python3 -c "open(\"harm\", \"w\")"' < /dev/null > "$scratch/out" 2>&1
    # An agent or a profile that allows it by itself is another matter.
    if grep -q 'needs confirmation\|refused' "$scratch/out"; then safe "not with $option"; else harm; fi
done
"$NACRE" run -w other 'python3 -c "open(\"harm\", \"w\")"' < /dev/null > "$scratch/out" 2>&1
safe 'not in another workspace'
"$NACRE" run -w ws 'python3 -c "open(\"harm\", \"w\") "' < /dev/null > "$scratch/out" 2>&1
safe 'not for another text'
echo 'print(1)' | "$NACRE" run -w ws 'python3 -c "open(\"harm\", \"w\")"' > "$scratch/out" 2>&1
safe 'not with something on standard input'
printf 'shell: {deny: [nothing]}\n' > "$config"
try
safe 'not under another policy'
rm "$config"
try
check 'control: for the same it counts' test -e ws/harm
harm
try
safe 'once'
cp "$folder"/*.used "$scratch/" 2> /dev/null
for used in "$scratch"/*.used; do
    name=$(basename "$used" .used)
    install -m 600 "$used" "$folder/$name.answer"
    jq -c --arg id "$name" '.id = $id' "$folder/$(id_of).question" > "$folder/$name.question" 2> /dev/null
    chmod 600 "$folder/$name.question"
done
try
safe 'nor is it used again when it is put back'
rm -rf "$folder"

# Two that come at the same time.
try
"$NACRE" approve --yes "$(id_of)" > /dev/null
for i in 1 2 3 4 5 6; do "$NACRE" run --json -w ws 'python3 -c "open(\"harm\", \"w\")"' < /dev/null > "$scratch/race$i" 2> /dev/null & done
wait
is 'six that race for one answer: one has it' "$(cat "$scratch"/race? | jq -r .status | grep -c '^ok$')" 1
harm
rm -rf "$folder"

# --- with a key ---------------------------------------------------------------------------------

echo 'correct horse battery' > "$scratch/pass"
"$NACRE" approve --set-passphrase --name ada --passphrase-file "$scratch/pass" > "$config"
try
id=$(id_of)
binding=$(jq -r .binding "$folder/$id.question")
forge .
try
safe 'with a key, an answer that is not signed'
forge ".key_name = \"ada\" | .signature = \"$(head -c 64 /dev/zero | base64 -w0)\""
try
safe 'or signed with nothing'
rm -f "$folder/$id.answer"
cp "$XDG_STATE_HOME/nacre/approver" "$scratch/approver"
echo 'another passphrase' > "$scratch/mine"
"$NACRE" approve --set-passphrase --name ada --passphrase-file "$scratch/mine" > /dev/null
"$NACRE" approve --yes --passphrase-file "$scratch/mine" "$id" > "$scratch/out" 2>&1
like 'a key of the same name is another one' "$(cat "$scratch/out")" '*not signed with the key of*'
# A program that takes the name of the key out of the question and signs by itself.
jq -c 'del(.key)' "$folder/$id.question" > "$scratch/q" && install -m 600 "$scratch/q" "$folder/$id.question"
"$NACRE" approve --yes "$id" > /dev/null 2>&1
try
safe 'or signed with another key'
cp "$scratch/approver" "$XDG_STATE_HOME/nacre/approver"
rm -f "$folder/$id".*
try
id=$(id_of)
"$NACRE" deny --passphrase-file "$scratch/pass" "$id" > /dev/null
sed -i 's/"answer":"no"/"answer":"yes"/' "$folder/$id.answer"
try
safe 'a no that was made a yes'
rm -rf "$folder"
try
"$NACRE" approve --yes --passphrase-file "$scratch/pass" "$(id_of)" > /dev/null
sed -i 's/"scope":"once"/"scope":"job"/' "$folder"/*.answer
try
safe 'a once that was made a job'
sed -i 's/"scope":"job"/"scope":"once"/' "$folder"/*.answer
try
check 'control: what was signed counts' test -e ws/harm
harm

# --- a run that is held -------------------------------------------------------------------------

printf 'shell: {allow: [rm]}\neffects: {delete_files: 2}\n' > "$config"
touch ws/a ws/b ws/c
"$NACRE" run -w ws 'rm a b c' < /dev/null > "$scratch/out" 2>&1
id=$(id_of)
refute 'a held run is not committed' "$NACRE" commit "$id"
check 'nothing is lost' test -e ws/a -a -e ws/b -a -e ws/c
refute 'nor redone' "$NACRE" redo "$id"
check 'nothing is lost' test -e ws/a
rm -f "$folder/$id.question"
refute 'nor when its question is gone' "$NACRE" commit "$id"
check 'nothing is lost' test -e ws/a
"$NACRE" run -w ws --stage 'rm a b c' < /dev/null > "$scratch/out" 2>&1
refute 'nor when it was staged' "$NACRE" commit "$(id_of)"
check 'nothing is lost' test -e ws/a
# Where answers are signed, these are, too, whatever became of the question's file.
cp "$config" "$scratch/unsigned.yaml"
{ cat "$config"; "$NACRE" approve --set-passphrase --name ada --passphrase-file "$scratch/pass"; } > "$scratch/both.yaml"
cp "$scratch/both.yaml" "$config"
refute 'nor approved without the passphrase' "$NACRE" approve --yes "$id"
check 'nothing is lost' test -e ws/a
cp "$scratch/unsigned.yaml" "$config"
check 'control: a person makes it real' "$NACRE" approve --yes "$id"
check 'which it is' test ! -e ws/a
check 'the ledger verifies' "$NACRE" verify

done_testing
