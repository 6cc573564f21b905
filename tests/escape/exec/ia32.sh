#!/usr/bin/env bash
# L8: a 32-bit program is seen like any other, by its name and by its bytes.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/escape/exec/lib.bash
. "$(dirname "$0")/lib.bash"

# 32-bit code without a library, which the filter ends at its first call; here it need only be seen.
cat > small.c << 'END'
void _start(void)
{
    __asm__ volatile("mov $1, %eax; mov $7, %ebx; int $0x80");
}
END
if ! gcc -m32 -nostdlib -static -o small small.c 2> /dev/null; then
    skip 'a 32-bit program' 'there is no compiler for it'
    done_testing
fi
./small
if [ $? != 7 ]; then
    skip 'a 32-bit program' 'this kernel runs none'
    done_testing
fi
judged './small one two; true'
like 'it is in the list with its words' "$(executed)" '*\["./small","one","two"\]*'
is 'nobody stopped it' "$(warnings)" ''
cp small touch
judged_later './touch one; true'
like 'a denied one is stopped' "$(warnings)" "*'./touch' was stopped before it began: deny: touch*"
like 'before its first call' "$(jq -c .executed <<< "$result")" '*\["./touch","one"\],"exit_code":137*'

done_testing
