/* The grammar of shellgen.c as data; nothing else reads it. */
#ifndef NACRE_SHELLGEN_GRAMMAR_H
#define NACRE_SHELLGEN_GRAMMAR_H

/*
 * The grammar. Alternatives are divided by "¦", each has its row's weight, and a rule has those of
 * all its rows. «rule» stands for a text made by the rule, «rule?» for it or nothing, «rule*» for
 * any number of them, «rule+» for one or more. How a rule's name begins says how its text is
 * treated: "raw-" puts no backslash-newlines into it, "sub-" ends its here-documents within it,
 * "bt-" does that and escapes it for backquotes. Rules written in code: see actions[].
 */
struct row {
    const char *rule;
    enum mode mode;
    int weight;
    const char *alternatives;
};

static const struct row rows[] = {
    /* Programs, lists and pipelines. */
    {"program", WILD, 8, "«lead?»«andor»«more*»«tail?»"},
    {"program", WILD, 1, "«lead?»«andor»«more+»«more+»«more+»«more+»«more+»«tail?»"},
    {"program", WILD | ODD, 1, "«lead?»"},
    {"program", SAFE, 1,
     "«lead?»«setup»; printf '%s\\n' l1 'l 2' >out4«more+»«more+»«more+»«more*»«tail?»"},
    {"setup", SAFE, 1,
     "x='a b' y=$'t\\tz' z= a=(p 'q r' s) n=3 m=7; set -- 1 '2 3' \"\"; declare -A h=([k]=v)"
     "¦set -- foo «arg» \"b  r\"; declare -A h=([k]=v [k2]='w x'); x=abcabc n=2 m=5 a=(«elem+»)"
     "¦x=foo.tar.gz y=* a=(«elem*»)\nn=4 h=x; set -- \"$y\" «word»"},
    {"lead", BOTH, 1, "«nl»¦«raw-comment»«eol»¦ ¦#!/bin/bash«eol»¦\t«nl»"},
    {"raw-comment", BOTH, 1,
     "#¦# it's¦# `a \"b¦#x $( ${¦# a \\¦## ) } esac fi done¦#!x¦# <<E¦#\t'¦# $((¦# é"},
    {"tail", BOTH, 1, "«_»;¦«nl»¦«_»;«nl»¦ «raw-comment»«eol»¦ «raw-comment»"},
    {"tail", WILD, 1, "«_»&¦\\\n"},
    {"more", BOTH, 12, "«sep»«andor»"},
    {"more", SAFE, 4, "«sep»echo «word»«args*»¦«sep»declare -p x a¦«sep»echo \"$LINENO:$?\""},
    {"more", SAFE, 1, "«sep»echo «word» &«s»wait¦«sep»declare -p h n"},
    {"list", BOTH, 1, "«andor»«more*»"},
    {"sep", BOTH, 6, "«_»;«_»¦«nl»"},
    {"sep", BOTH, 1, "«_»;«_»«nl»¦«nl»«nl»¦«nl»\t"},
    {"sep", WILD, 1, "«_»&«_»¦ &«nl»"},
    {"end", BOTH, 4, "«_»;«_»¦«nl»¦;«nl»"},
    {"end", WILD, 1, "«_»& "},
    {"nl", BOTH, 9, "«eol»"},
    {"nl", BOTH, 1, "«s»«raw-comment»«eol»¦«_»«eol»«_»«eol»¦«eol»\t¦«eol»«raw-comment»«eol»"},
    {"s", BOTH, 12, " "},
    {"s", BOTH, 1, "\t¦  ¦ \\\n¦\\\n "},
    {"_", BOTH, 9, "¦ "},
    {"_", BOTH, 1, "\t¦  ¦\\\n"},
    {"nb", BOTH, 4, "«_»"},
    {"nb", BOTH, 1, "«nl»¦«_»«nl»«nl»"},
    {"ks", BOTH, 3, "«s»"},
    {"ks", BOTH, 1, "«nl»¦«nl»«nl»¦«s»«nl»"},
    {"andor", BOTH, 9, "«pipe»"},
    {"andor", BOTH, 1, "«pipe»«_»&&«nb»«andor»¦«pipe»«_»||«nb»«andor»"},
    {"pipe", BOTH, 16, "«cmd»"},
    {"pipe", WILD, 2, "«cmd»«_»|«nb»«piped»¦«cmd»«_»|&«nb»«piped»"},
    {"pipe", BOTH, 1, "!«s»«cmd»¦! !«s»«cmd»"},
    {"pipe", WILD, 1, "time«s»«pipe»¦time -p«s»«cmd»¦«timed»"},
    {"piped", WILD, 24, "«cmd»"},
    {"piped", WILD, 8, "«cmd»«_»|«nb»«piped»"},
    {"piped", WILD, 1, "«timed»"},
    {"timed", WILD, 6, "time --«s»«cmd»¦time -p --«s»«cmd»¦!«s»time«s»«cmd»¦time !«s»«cmd»"},
    {"timed", WILD | ODD, 1, "time¦!¦time -p¦time --¦time time a¦time -x a¦! ! ! a"},
    {"pipe", SAFE, 1,
     "{«ks»«list»«end»} 2>&1«_»|«nb»«consumer»¦(«nb»«list»)«_»|&«nb»«consumer»"
     "¦echo«args+» 2>&1«_»|«nb»«consumer»¦printf '%s\\n'«args+»«_»|&«nb»tr a b«_»|«nb»«consumer»"},
    /* Files read are never the ones written: in a pipeline the two could come in either order. */
    /* All read to the end: else the writer dies of SIGPIPE, or not, as the clock will have it. */
    {"consumer", SAFE, 1,
     "cat¦sort¦wc -c¦tr a b¦sed 's/a/b/'¦{ read -r x; echo \"<$x>\"; cat; }"
     "¦while read -r v«n»; do«ks»echo \"[$v«n»]\" $LINENO«end»done¦( cat )¦if cat; then«ks»:; fi"},
    /* Commands. */
    {"cmd", BOTH, 14, "«simple»"},
    {"cmd", BOTH, 8, "«compound»«sredir?»"},
    {"cmd", BOTH, 1, "«function»"},
    {"cmd", WILD, 1, "«coproc»"},
    {"coproc", WILD, 1,
     "coproc«s»«simple»¦coproc«s»«compound»«sredir?»¦coproc«s»NAME«s»«compound»«sredir?»"},
    {"compound", BOTH, 2, "(«nb»«list»«end?»)¦{«ks»«list»«end»}«_»"},
    {"compound", BOTH, 2, "if«ks»«list»«end»then«ks»«list»«end»«elif*»«else?»fi"},
    {"elif", BOTH, 1, "elif«ks»«list»«end»then«ks»«list»«end»"},
    {"else", BOTH, 1, "else«ks»«list»«end»"},
    {"compound", WILD, 1, "while«ks»«list»«end»«do»¦until«ks»«list»«end»«do»"},
    {"do", BOTH, 1, "do«ks»«list»«end»done"},
    {"compound", WILD, 1,
     "for«s»«name»«s»in«args*»«fend»«do»¦for«s»«name»«ks»«do»¦for«s»«name»«_»;«ks»«do»"
     "¦for«s»«name»«ks»in«args*»«fend»{«ks»«list»«end»}¦for«s»«name»«fend»{«ks»«list»«end»}"
     "¦for«_»((«aexpr?»;«aexpr?»«_»;«_»«aexpr?»))«fsep»«do»¦for ((«aexpr?»;«aexpr?»;«aexpr?»))«_»"
     "{«ks»«list»«end»}¦for((;;))«fsep»«do»¦select«s»«name»«s»in«args*»«fend»«do»"
     "¦select«s»«name»«ks»«do»¦select«s»«name»«s»in«args+»«fend»{«ks»«list»«end»}"},
    {"fend", BOTH, 1, "«_»;«_»¦«nl»¦;«nl»"},
    {"fsep", BOTH, 1, "«_»;«_»¦«s»¦«nl»¦«_»;«nl»"},
    {"compound", SAFE, 1,
     "for«s»i«n»«s»in«args+»«end»«do»¦for«s»i«n»«ks»«do»¦for«s»i«n»«_»;«ks»«do»"
     "¦for«_»((i«n»=0;i«n»<3;i«n»++))«fsep»«do»¦for ((i«n»=0; i«n»<2; ++i«n» ))«_»{«ks»«list»«end»}"
     "¦{«s»i«n»=0;«s»while«s»((i«n»++<2))«end»«do»«end»}¦while«s»false«end»«do»"
     "¦{«s»i«n»=0;«s»until«s»[ $((i«n»++)) -ge 2 ]«end»«do»«end»}¦until«s»true«end»«do»"
     "¦while«s»read -r v«n»«end»do«ks»echo \"[$v«n»]\"«end»«list»«end»done«_»«heredoc»"
     "¦for«s»i«n»«s»in«s»a \"b c\" «word»«end»do«ks»echo \"$i«n»\" $LINENO«end»«list»«end»done"
     "¦select i«n» in«args+»; do«ks»«list»«end»done <<<1"},
    {"compound", BOTH, 3, "case«s»«word»«ks»in«ks»«clause*»«last?»esac"},
    {"clause", BOTH, 1, "«paren?»«pat»«_»)«nb»«cbody»«term»«ks»"},
    {"last", BOTH, 1, "«paren?»«pat»«_»)«nb»«list»«end»¦«paren?»«pat»)«ks»"},
    {"paren", BOTH, 1, "(«_»"},
    {"cbody", BOTH, 3, "«list»«_»¦«list»«nl»"},
    {"cbody", BOTH, 1, "¦«nl»"},
    {"cbody", WILD, 1, "«list»«_»& "},
    {"term", BOTH, 4, ";;"},
    {"term", BOTH, 1, ";&¦;;&"},
    {"pat", BOTH, 4, "«word»¦*"},
    {"pat", BOTH, 1, "«glob»¦«word»«_»|«_»«pat»¦a|b |c¦if¦''"},
    {"paren", WILD, 1, "(esac |¦(¦in|"},
    {"compound", BOTH, 1, "«cond»¦«arith»"},
    {"arith", WILD, 1, "((«_»«aexpr»«_»))¦((«aexpr»,«aexpr»))"},
    /* The blank: bash takes "(((n>1)); a)" for subshells, and the safe ones write no file "1". */
    {"arith", SAFE, 1, " ((«_»«aexpr»«_»))¦ ((«aexpr»,«aexpr»))"},
    {"arith", WILD | ODD, 1, "(( «aexpr»\n))¦((«raw-dquoted»))¦(())"},
    {"function", WILD, 3,
     "«fname»«_»(«_»)«nb»«compound»«sredir*»¦function«s»«fname»«ks»{«ks»«list»«end»}«sredir*»"
     "¦function«s»«fname»«_»()«nb»«compound»«sredir*»¦«fname»()«nb»{«ks»«list»«end»}«sredir?»"
     "¦function«s»«fname»«nl»«compound»"},
    {"function", WILD, 1, "function«s»«fname» (( «aexpr» ))¦function«s»«fname» ( «list» )"},
    {"fname", WILD, 1, "f¦g-h¦a.b¦f:x¦@¦+¦é¦_f1¦f%¦f,g¦f!¦1f¦a/b¦if¦\\f¦f=¦'f'¦$f¦~¦f#¦[x]¦f]"},
    {"fname", WILD, 8, "f¦foo"},
    {"function", SAFE, 1,
     "{«s»f«n»«_»()«nb»«fbody»«sredir?»«sep»f«n»«args*»«end»}"
     "¦{«s»function«s»f«n»«ks»{«ks»«flist»«end»}«sep»f«n»«args+»«end»}"
     "¦{«s»function f«n» ()«nb»«fbody»«sep»f«n»«args*»«sredir?»«end»declare -F f«n»«end»}"},
    {"fbody", SAFE, 1,
     "{«ks»«flist»«end»}¦(«flist»)¦{ local x=«word»«sep»«flist»«end»}¦«compound»"},
    {"flist", SAFE, 1, "echo $# \"$@\" $LINENO«sep»«list»¦«list»¦«list»«sep»return 3"},
    /* Conditions and arithmetic. */
    {"cond", BOTH, 1, "[[«ks»«cexpr»«ks»]]"},
    {"cexpr", BOTH, 4, "«cprim»"},
    {"cexpr", BOTH, 1,
     "«cexpr»«s»&&«ks»«cexpr»¦«cexpr»«ks»||«ks»«cexpr»¦!«s»«cexpr»¦(«_»«cexpr»«_»)¦("
     "«nl»«cexpr»«nl»)"},
    {"cprim", BOTH, 5,
     "«cunary»«s»«word»¦«word»«s»==«s»«cpat»¦«word» != «cpat»¦«word»«s»=~«s»«regex»"},
    {"cprim", BOTH, 1, "«word»¦«word»«s»=«s»«word»¦x < «word»¦«word» > y"},
    {"cprim", BOTH, 1,
     "«num»«s»-eq«s»«num»¦«num» -ne«s»«num»¦«num»«s»-lt 3¦1 -le «num»¦«num» -gt«s»2¦x -ge «num»"},
    {"cprim", WILD, 3, "«word» -ef «word»¦«word» -nt«s»«word»¦«word» -ot «word»"},
    {"cprim", WILD | ODD, 1, "-n¦! -z¦\"(\""},
    {"cunary", BOTH, 1, "-e¦-f¦-d¦-n¦-z¦-v¦-o"},
    {"cunary", WILD, 1, "-a¦-b¦-c¦-g¦-h¦-k¦-L¦-p¦-r¦-s¦-S¦-t¦-u¦-w¦-x¦-G¦-N¦-O¦-R"},
    {"cpat", BOTH, 2, "«word»¦«glob»¦«ext»¦a«ext»«word»"},
    {"ext", BOTH, 1, "@(a|b)¦+([0-9])¦*(«word»|«glob»)¦?(x)¦!(a|«ext»)¦@(|«dquoted»)¦@(a«_»|\\))"},
    {"regex", BOTH, 2,
     "^a.*$¦(a|b)+¦[[:digit:]]+¦$x¦^(«dquoted»|b)$¦a|b¦x\\ y¦([^)]*)¦(\\()¦«word»"},
    {"regex", BOTH, 1, "^(«raw-squoted»)?(b|(c))*¦\\.¦a{1,2}¦(a b)¦[ab]$¦()¦$(echo a)¦(a;b)¦(<|>)"},
    {"regex", WILD, 1, "a&¦<a¦(&)¦(#a)¦a\\|b¦[(]¦[\"a b\"]¦(`x`)"},
    {"num", BOTH, 1, "1¦n¦$n¦«aexpr0»¦$((«aexpr»))¦\"$m\"¦${#x}¦-3"},
    {"aexpr", BOTH, 4, "«aexpr0»"},
    {"aexpr", BOTH, 1,
     "«aexpr»«_»«abinop»«_»«aexpr»¦(«_»«aexpr»«_»)¦!«aexpr0»¦~«aexpr0»¦- «aexpr0»"
     "¦«aexpr0»?«aexpr»:«aexpr»¦n=«aexpr»¦n«_»«aassign»«_»2¦n++¦--m¦n--"},
    {"aexpr0", BOTH, 2, "1¦n¦m¦$n¦42"},
    {"aexpr0", BOTH, 1,
     "0x1F¦010¦16#ff¦${n}¦${n:-1}¦${#x}¦$((«aexpr»))¦$(«sub-number»)¦$#¦`«bt-one»`"},
    {"aexpr0", WILD, 1, "a[1]¦a[«aexpr»]¦'1'¦\"1\"¦\"$x\"¦$[1]¦x y¦\\1¦1 +\n2¦\"(\"¦$(«sub-list»)"},
    {"sub-number", BOTH, 1, "echo 2¦echo «num»¦ (echo 1)"},
    /* Not safe: at run time bash counts the parentheses and takes "$((" for a command's. */
    {"sub-number", WILD, 1, "case a in a) echo 5;; esac"},
    {"bt-one", BOTH, 1, "echo 1"},
    {"abinop", BOTH, 1, "+¦-¦*¦<<¦>>¦<¦>¦<=¦>=¦==¦!=¦&¦|¦^¦&&¦||¦,"},
    {"abinop", WILD, 1, "/¦%¦**"},
    {"aassign", BOTH, 1, "=¦+=¦-=¦*=¦/=¦%=¦&=¦|=¦^=¦<<=¦>>="},
    /* Simple commands. */
    {"simple", WILD, 8, "«cmdname»«args*»¦«cmdname»«args+»«sredir*»"},
    {"simple", WILD, 2, "«assign»¦«cmdname»«args?»«sredir+»«args*»¦«assign»«s»«cmdname»«args*»"},
    {"simple", WILD, 1, "«assign»«s»«assign»¦«redir»«s»«cmdname»«args*»¦«redir»¦«assign»«sredir»"},
    {"simple", WILD, 2, "«decl»«s»«declarg+»¦«cmdname» «reserved»«s»«reserved»«args?»"},
    {"cmdname", WILD, 6, "echo¦cat¦printf¦:"},
    {"cmdname", WILD, 1, "[¦test¦a¦foo¦/bin/ls¦./x¦.¦eval¦exec¦set¦$x¦«wpart»¦a.b¦~/x¦\\if¦'if'"},
    {"decl", WILD, 1, "declare¦declare -a¦export¦local¦typeset -i¦readonly¦declare -gA"},
    {"declarg", WILD, 1, "«assign»«_» ¦x ¦-r ¦«word» ¦a=(«elem*») ¦x=«word» "},
    {"simple", SAFE, 12, "echo«args+»¦printf '<%s>\\n'«args+»¦echo \"«dqpart+»\""},
    {"simple", SAFE, 4, "«assign»«sep»declare -p «name»¦cat«_»«heredoc»¦echo«args+»«sredir»"},
    {"simple", SAFE, 2,
     "echo $LINENO¦printf '%s|' \"$@\"¦echo \"${a[@]}\" «expand»¦«filter»«_»<<<«_»«word»"
     "¦set -- «word»«args*»¦shift¦let n=«aexpr0»¦let \"n «aassign» 2\"¦declare -a a=(«elem*»)"
     "¦«filter»«s»«heredoc»¦cat «heredoc»«s»«sredir»¦read -r x y <<<«word»¦read -a a«s»«heredoc»"
     "¦declare x=«word» y=\"«dqpart*»\"¦cat <(echo «word»)¦«assign»«s»«assign»¦x=«word» echo $x"
     "¦x=$(«sub-list») y=«word»¦echo $LINENO $? $#¦echo «reserved» «reserved»"},
    {"simple", SAFE, 1,
     "true¦false¦: «word»¦test -n «word»¦[ «word» = «word» ]¦local x=1¦return 2¦break¦declare -i n"
     "¦declare -A h=([k]=«word» [«word»]=2)¦read x <out4¦declare -p a¦echo ${BASH_REMATCH[@]}"
     "¦cat«s»«heredoc»«s»3«heredoc»¦test -e out«fileno»¦«redir»"},
    {"filter", SAFE, 1, "cat¦tr a b¦sort¦wc -c¦sed 's/a/b/'"},
    {"args", BOTH, 1, "«s»«arg»"},
    {"arg", BOTH, 40, "«word»"},
    {"arg", BOTH, 3, "«glob»¦«brace»¦«reserved»¦-«word»"},
    {"arg", WILD, 1, "<(«_»«sub-list»)¦>(«sub-list»)¦a<(«sub-list»)b"},
    {"raw-odd", WILD | ODD, 1, "«ext»¦]]"},
    {"reserved", BOTH, 1,
     "if¦then¦elif¦else¦fi¦do¦done¦case¦esac¦in¦while¦until¦for¦select¦function¦time¦coproc¦{¦}¦!"
     "¦[[¦]]"},
    {"assign", BOTH, 4, "«name»=«word»¦«name»=\"«dqpart*»\"¦a[«index»]=«word»"},
    {"assign", BOTH, 1, "«name»=¦«name»+=«word»¦a=( «elem*»)¦a+=(«elem+»)¦a[1]+=«word»"},
    {"assign", BOTH | ODD, 1, "x=~:~/a¦a=()"},
    {"assign", WILD | ODD, 1,
     "a[1]=(x)¦a[b c]=1¦a[\"x y\"]=«word»¦x=«brace»¦a=(\n# c\n)¦x=(a)b¦1x=a¦x-=1"},
    {"index", BOTH, 1, "0¦1¦n¦«aexpr0»¦$(«sub-number»)¦$((«aexpr»))¦${#a[@]}"},
    {"index", WILD, 1, "«word»¦a b¦'k'¦$(«sub-list»)¦a[1]¦x]¦«aexpr»¦\\]"},
    {"elem", BOTH, 6, "«word»«s»¦«dquoted» ¦[«index»]=«word»«s»"},
    {"elem", BOTH, 1,
     "«nl»¦$(«sub-list»)«s»¦«brace»«nl»¦ «raw-comment»«eol»¦[5]=«s»¦«reserved»«s»"},
    {"elem", WILD, 1, "<(«sub-list») ¦[k]+=«word» ¦[a b]=x ¦x=y ¦«glob» "},
    {"name", BOTH, 1, "x¦y¦z"},
    {"name", WILD, 1, "foo¦_¦X1¦IFS¦if"},
    {"sredir", BOTH, 1, "«s»«redir»¦«_»«redir0»"},
    {"redir", BOTH, 3, "«redir0»"},
    {"redir", WILD, 2, "«fd»«redir0»"},
    {"fd", WILD, 1, "0¦1¦2¦3¦10¦{fd}¦{a[1]}"},
    {"redir0", WILD, 3, "<«_»«word»¦>«_»«word»¦>>«_»«word»¦<<<«_»«word»"},
    {"redir0", WILD, 1,
     ">|«_»«word»¦<>«_»«word»¦&>«_»«word»¦&>>«_»«word»¦>&«_»2¦<&«_»0¦>&-¦<&-¦>&2-¦<&3-¦>&$x¦>& f"
     "¦< <(«sub-list»)¦> >(«sub-list»)¦>&«word»¦<<<«dquoted»¦<«s»«glob»"},
    {"redir0", WILD, 6, "«heredoc»"},
    {"redir0", SAFE, 1,
     ">«_»out«fileno»¦>>«_»out«fileno»¦>|out«fileno»¦>&2¦ 2>&1¦«heredoc»¦<<<«_»«word»¦ 3>&1¦ 2>&-"
     "¦ {fd}>out«fileno»¦&>out«fileno»¦&>>out«fileno»¦ 3<<<«word»¦ 3>&2-"},
    {"fileno", SAFE, 1, "1¦2¦3"},
    /* Lines of here-documents; a "raw-" one's delimiter is quoted. None may look like one. */
    {"hline", BOTH, 3, "a $x b¦«expand»¦text¦\"«expand»'¦x $(«sub-list») y¦`«bt-list»`"},
    {"hline", BOTH, 1,
     "¦\tindented¦it's¦a\\\nb¦\\$x \\` \\\\ \\q¦${x:-\"a b\"}¦${x:-it's}¦$((«aexpr»))¦#no¦ E¦E "
     "¦)¦$LINENO"
     "¦${a[@]}¦\"$@\"¦$'a'¦${x#'}'}¦( ; & | <¦\\"
     "\nx"},
    {"raw-hline", BOTH, 1,
     "a $x b¦$(¦`¦it's \"¦\\¦\\\\¦\tindented¦${¦)¦a\\$b¦#¦E x¦éa¦esac ;;¦}¦done"},
    /* Words. A lone "$" or a "#" may not stand just anywhere, so they come with company. */
    {"word", BOTH, 10, "«raw-lit»"},
    {"word", BOTH, 6, "«wpart»"},
    {"word", BOTH, 2, "«wpart»«wpart»¦«raw-lit»«wpart»¦«wpart»«tailpart»"},
    {"word", BOTH, 1, "«wpart»«wpart»«wpart»«tailpart»¦«raw-odd»"},
    {"raw-lit", BOTH, 3, "a¦b¦foo¦hello¦abc¦42"},
    {"raw-lit", BOTH, 1, "-n¦x1¦a.b¦dir/x¦a-b¦o_k¦1.5"},
    {"raw-odd", BOTH, 1,
     "a#b¦a!¦!¦a=b¦~¦~/x¦{¦}¦{}¦[¦]¦[]¦^¦,¦%¦+¦@¦a@b¦é¦日本¦a^b¦a,b¦x%y¦+=¦=¦==¦a{b¦}c¦:¦-¦--¦a]¦%%"
     "¦{a¦a}¦!a¦=a¦~x¦a~¦a:~¦\\#¦\\~¦a\\ b"},
    {"raw-odd", WILD | ODD, 1,
     "\xff¦a\xc3¦\xe2\x82¦\x01¦\x7f¦$¦a$¦\xc2\xa0¦a[b¦a[b=1¦\r¦{1..¦\x80z¦\v"},
    {"wpart", BOTH, 3, "«raw-lit»¦«raw-squoted»¦«dquoted»¦«expand»¦«expand»"},
    {"wpart", BOTH, 1, "«raw-dsquoted»¦\\«raw-escaped»¦''¦\"\"¦«brace»¦$\"«dqpart*»\""},
    {"tailpart", BOTH, 1, "#¦=¦~¦$¦]¦^¦,¦%¦!¦#a¦«wpart»¦\\«raw-escaped»¦/*"},
    {"raw-escaped", BOTH, 1, " ¦\\¦'¦\"¦$¦`¦a¦&¦;¦(¦)¦|¦<¦#¦{¦*¦\n¦~¦é"},
    {"raw-squoted", BOTH, 1,
     "'a b'¦''¦'$x'¦'\"'¦'`'¦'\\'¦'a\nb'¦'$(x'¦'#'¦')'¦'}'¦'a''b'¦'\\\\'¦'é'¦'*'¦'\\\n'"},
    {"raw-dsquoted", BOTH, 1,
     "$'a\\nb'¦$'\\''¦$'\\\\'¦$'\\x41\\101'¦$'\\u00e9'¦$'\\U1F600'¦$'\\e\\E\\a\\b\\f\\v\\r\\t'¦$'"
     "\\cA'¦$''"
     "¦$'\\\"\\?'¦$'a\nb'¦$'\"'¦$'$x`'¦$'\\q'¦$'\\xg'¦$'\\x{41}'¦$'\\0'¦$')}'¦$'\\u'¦$'\\\n'"},
    {"dquoted", BOTH, 1, "\"«dqpart+»\"¦\"«dqpart*»\""},
    {"raw-dquoted", WILD, 1, "\"a b\"¦\"1\"¦\"$n\""},
    {"dqpart", BOTH, 3, "a¦ b¦«qexpand»"},
    {"dqpart", BOTH, 1, "'¦\\\"¦\\\\¦\\$¦\\`¦\\a¦\n¦\\\n¦#¦(¦)¦{¦}¦*¦~¦é¦;¦&¦|¦<¦!¦it's¦''¦,¦[¦]"},
    {"dqpart", WILD, 1, "$ ¦$'a'¦\xff¦$%"},
    {"brace", BOTH, 1,
     "{a,b}¦{1..3}¦x{a,\"b c\"}y¦{a,{b,c}}¦{a..e..2}¦{,x}¦{a,$x}¦{a}¦{3..1}¦{\\,,b}"},
    {"glob", BOTH, 1, "*¦?¦[a-z]*¦[!a]¦[[:alpha:]]*¦*.c¦out*¦[^a]?¦[]a]¦a*«word»¦[a\\]]"},
    /* Expansions. Those within double quotes have their own rules: quotes mean less there. */
    {"expand", BOTH, 1, "$«special»¦${«param»}¦${«param»«op»}¦${«param»«op»}¦«any»"},
    {"qexpand", BOTH, 1, "$«special»¦${«param»}¦${«param»«qop»}¦${«param»«qop»}¦«any»"},
    {"any", BOTH, 4, "$(«_»«sub-list»«_»)¦`«bt-list»`"},
    {"any", BOTH, 2, "$((«_»«aexpr»«_»))¦${#«param»}¦${!a[@]}¦${#a[@]}¦$(«sub-shown»)"},
    {"any", BOTH, 1,
     "$[«aexpr»]¦$(<«_»out4)¦${!x*}¦${!x@}¦${!a[*]}¦${#}¦${#@}¦${#*}¦$(«nl»«sub-list»«nl»)¦$()"
     "¦$(( («aexpr») ))¦${@:1:2}¦${*:«aexpr0»}¦$( («sub-list») )¦$(( n > 1 ? «aexpr» : 0 ))"},
    {"any", WILD, 1,
     "${!x}¦${!x:-«qword»}¦${!1}¦${!#}¦${#-}¦${##}¦${#?}¦${#$}¦$((«sub-list»))¦$[ «aexpr» ]¦${!x@Q}"
     "¦$((«sub-list»);a)¦$(«lead»)¦${«raw-odd»}¦$(<«s»«word»)¦$(#c\n)¦${ «sub-list»; }¦``¦${a[}"},
    {"special", BOTH, 8, "x¦y"},
    {"special", BOTH, 1, "1¦@¦*¦#¦?¦-¦0¦2¦a¦LINENO¦n"},
    {"special", WILD, 1, "$¦!¦_¦foo¦10"},
    {"param", BOTH, 6, "x¦y¦z"},
    {"param", BOTH, 1, "1¦@¦*¦a¦a[@]¦a[*]¦a[«index»]¦10¦h[k]¦n"},
    {"param", WILD, 1, "$¦!¦-¦?¦0¦#¦_¦h[$(«sub-list»)]¦h['x y']¦h[\"$x\"]¦h[a[1]]¦h[«word»]"},
    {"op", BOTH, 3, "«alter»«pword*»¦«trim»«pword»¦/«pword»/«pword»"},
    {"qop", BOTH, 3, "«alter»«qword*»¦«trim»«qword»¦/«qword»/«qword»"},
    {"op", BOTH, 1,
     "//«pword»/«pword»¦/#«pword»/«pword?»¦/%«pword»/¦//«pword»¦/«pword»¦«case»«glob»"},
    {"qop", BOTH, 1,
     "//«qword»/«qword»¦/#«qword»/«qword?»¦/%«qword»/¦//«qword»¦/«qword»¦«case»«glob»"},
    {"op", BOTH, 1, "«slice»¦«case»¦@«raw-transform»"},
    {"qop", BOTH, 1, "«slice»¦«case»¦@«raw-transform»"},
    {"alter", BOTH, 2, ":-¦:=¦:+"},
    {"alter", BOTH, 1, "-¦=¦+"},
    {"alter", WILD, 1, ":?¦?"},
    {"trim", BOTH, 1, "#¦##¦%¦%%"},
    {"case", BOTH, 1, "^¦^^¦,¦,,"},
    {"slice", BOTH, 1, ":1¦:1:2¦: -2¦:«aexpr»¦:«aexpr0»:«aexpr0»¦:0:${#x}¦:(1):1¦::2"},
    {"slice", WILD, 1, ":¦::¦:x?1:2¦:$(«sub-list»):«aexpr»¦:\"1\"¦:a[1]"},
    {"raw-transform", BOTH, 1, "Q¦E¦A¦a¦U¦u¦L¦K¦k"},
    {"raw-transform", WILD, 1, "P¦x¦"},
    {"pword", BOTH, 5, "a¦«wpart»¦«word»"},
    {"pword", BOTH, 1,
     "*¦a b¦\\}¦'}'¦\"}\"¦?¦[ab]¦«glob»¦«dquoted» «expand»¦\\/¦(¦)¦;¦&¦|¦<¦{¦#¦\n"},
    {"qword", BOTH, 5, "a¦«qexpand»¦\"«dqpart»\""},
    {"qword", BOTH, 1,
     "*¦a b¦\\}¦'a'¦\\\"¦'\"a\"'¦«qexpand» \"b c\"¦\\/¦(¦)¦;¦\\'¦$'x'¦#¦~¦\\\\¦\\$"},
    {"qword", WILD, 1, "'¦it's¦'}'¦{¦\"«qexpand»'\"¦$\"a\""},
    {"sub-shown", BOTH, 1, "echo «arg»¦echo \"«dqpart+»\"¦printf %s \"$x\"¦cat«_»«heredoc»"},
    {"sub-list", BOTH, 2, "«list»"},
    {"sub-list", BOTH, 3, "echo«args*»¦echo \"«dqpart+»\""},
    {"sub-list", BOTH, 1, "cat«_»«heredoc»¦«list»«end»¦«list»«nl»¦case«s»x in x) echo b;; esac"},
    {"bt-list", BOTH, 2, "echo«args*»¦echo \"«dqpart+»\"¦echo $x"},
    {"bt-list", BOTH, 1, "«list»¦cat«_»«heredoc»¦«_»echo `«bt-list»`"},
};

#endif
