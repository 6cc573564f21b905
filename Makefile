# One Makefile, no recursion but for variants. `make help` lists what there is.
#
#   build/VARIANT/   everything that is made; VARIANT is release, debug, asan or fuzz
#
# A room is a folder of src/. ROOMS gives their order; a room may use those before it, and each
# room's unit tests are linked with just these, so a call in the other direction does not link.

VARIANT ?= release
PREFIX  ?= /usr/local
DESTDIR ?=
HISTORY ?= 100000

ROOMS := base ledger redact shell facts policy plan sandbox run changes history session work approve engine jobs serve cli
LIBRARY_ROOMS := base ledger redact shell facts policy plan sandbox run changes history session work approve engine

VERSION := $(shell sed -n 's/^.define NACRE_VERSION "\(.*\)"/\1/p' src/engine/version.h)
SONAME  := libnacre.so.0
B := build/$(VARIANT)

# Short lines unless V=1.
ifneq ($(V),1)
Q := @
say = @printf '  %-5s %s\n' '$(1)' '$(2)'
else
Q :=
say = @:
endif

# --- compilers -------------------------------------------------------------------------------

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
            -Wmissing-prototypes -Wformat=2 -Wvla -Wundef -Wwrite-strings -Wpointer-arith \
            -Wimplicit-fallthrough
ifneq ($(WERROR),no)
WARNINGS += -Werror
endif

COMMON := -std=gnu17 -D_GNU_SOURCE -Iinclude -Isrc -include base/banned.h \
          -fPIC -fvisibility=hidden -fno-common -fstack-protector-strong $(WARNINGS)
LIBS := -Wl,--as-needed -lnettle -lsodium -ljansson -lfyaml -lsqlite3 -lzstd -lm

release_CC := gcc
release_CFLAGS := -O2 -g -ffunction-sections -fdata-sections -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
release_LDFLAGS := -Wl,-z,relro,-z,now -Wl,--gc-sections
# SQLite can load extensions; this program never does, and needs no dlopen for it.
release_PROGRAM := -static -no-pie -Wl,--wrap=dlopen,--defsym=__wrap_dlopen=0
debug_CC := gcc
debug_CFLAGS := -O0 -g3
# clang, so that every test run compiles with both.
asan_CC := clang
asan_CFLAGS := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
asan_LDFLAGS := -fsanitize=address,undefined
fuzz_CC := clang
fuzz_CFLAGS := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
fuzz_LDFLAGS := -fsanitize=address,undefined

VARIANTS := release debug asan fuzz
ifeq ($(filter $(VARIANT),$(VARIANTS)),)
$(error VARIANT is one of: $(VARIANTS))
endif

CC := $($(VARIANT)_CC)
CFLAGS_ALL := $(COMMON) $($(VARIANT)_CFLAGS) $(CFLAGS)
LDFLAGS_ALL := $($(VARIANT)_LDFLAGS) $(LDFLAGS)

# The launcher is the same in every variant: it clones by hand, which no sanitizer survives. It is
# linked with musl, which starts in a third of the time: a static glibc asks the processor for its
# features and caches first, and in a virtual machine each of these questions goes to the host.
LAUNCH_CC := musl-gcc
LAUNCH_CFLAGS := $(COMMON) -isystem $(B)/kernel -O2 -g -ffunction-sections -fdata-sections $(CFLAGS)
LAUNCH_LDFLAGS := -static -Wl,-pie,--no-dynamic-linker,-z,text,-z,relro,-z,now -Wl,--gc-sections $(LDFLAGS)
# musl-gcc links no static program that can lie anywhere in memory, though musl has what it takes.
MUSL := /usr/lib/$(shell gcc -print-multiarch | sed 's/-gnu/-musl/')
LAUNCH_START := -nostartfiles $(MUSL)/rcrt1.o $(MUSL)/crti.o $(shell gcc -print-file-name=crtbeginS.o)
LAUNCH_END := $(shell gcc -print-file-name=crtendS.o) $(MUSL)/crtn.o

# --- what there is ---------------------------------------------------------------------------

.DEFAULT_GOAL := all
.PHONY: all help deps run test agents bench soak lint format install uninstall clean FORCE unit programs fuzzers

room_sources = $(filter-out src/cli/main.c src/cli/manual.c,$(wildcard src/$(1)/*.c))
objects = $(patsubst %.c,$(B)/%.o,$(1))
archive = $(B)/$(1).a
# Rooms up to and with $(1), the last first, as the linker wants them.
reverse = $(if $(1),$(call reverse,$(wordlist 2,99,$(1))) $(firstword $(1)))
position = $(words $(shell echo "$(ROOMS)" | sed 's/\b$(1)\b.*/$(1)/'))
upto = $(foreach r,$(call reverse,$(wordlist 1,$(call position,$(1)),$(ROOMS))),$(call archive,$(r)))

# What is made of data/ and belongs to a room: generated_ROOM.
generated_facts := $(B)/gen/knowledge_data.o
generated_policy := $(B)/gen/policy_data.o
generated_redact := $(B)/gen/secrets_data.o
LIBRARY_OBJECTS := $(call objects,$(foreach r,$(LIBRARY_ROOMS),$(call room_sources,$(r)))) \
                   $(foreach r,$(LIBRARY_ROOMS),$(generated_$(r)))
KNOWLEDGE := $(sort $(wildcard data/commands/*.yaml)) data/variables.yaml
POLICIES := $(sort $(wildcard data/policies/*.yaml data/agents/*.yaml data/presets/*.yaml))
SECRETS := $(sort $(wildcard data/secrets/*.yaml))
LAUNCH_SOURCES := $(wildcard src/sandbox/launch/*.c) src/sandbox/group.c src/plan/codec.c src/plan/kinds.c \
                  src/base/err.c src/base/fd.c src/base/buf.c src/base/alloc.c src/base/json.c \
                  src/base/utf8.c src/base/escape.c src/base/clock.c
LAUNCH_OBJECTS := $(patsubst %.c,$(B)/launch/%.o,$(LAUNCH_SOURCES))

PROGRAMS := $(B)/nacre $(B)/nacre-launch $(B)/nacre-verify $(B)/libnacre.so $(B)/libnacre.a $(B)/nacre.1
UNIT_TESTS := $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/*_test.c))
REPLAYERS := $(patsubst tests/fuzz/%.c,$(B)/replay/%,$(filter-out %/replay.c,$(wildcard tests/fuzz/*.c)))
FUZZERS := $(patsubst tests/fuzz/%.c,build/fuzz/fuzz/%,$(filter-out %/replay.c,$(wildcard tests/fuzz/*.c)))
TOOLS := $(patsubst tests/tools/%.c,$(B)/tools/%,$(wildcard tests/tools/*.c))
ORACLE := $(B)/oracle/oracle.so $(B)/oracle/compare

all: $(PROGRAMS)
programs: $(PROGRAMS)
unit: $(UNIT_TESTS) $(REPLAYERS) $(TOOLS) $(ORACLE) $(B)/unjudged/nacre $(B)/unjudged/nacre-launch

help:
	@echo 'make            build the program, its launcher and the library (build/release)'
	@echo 'make run        install what is missing, build, run a command in the sandbox'
	@echo 'make test       install what is missing, build, run all tests'
	@echo 'make bench      compare with bare bash and bubblewrap, same run; HISTORY=1000000 for a long history'
	@echo 'make agents     real coding agents run a command through nacre; fetches a gigabyte of them first'
	@echo 'make soak       the long form of the tests that repeat'
	@echo 'make lint       clang-format, clang-tidy, cppcheck, shellcheck'
	@echo 'make install    DESTDIR= PREFIX=/usr/local'
	@echo 'make fuzzers    libFuzzer programs in build/fuzz/fuzz/'
	@echo 'make deps       only install what is missing to build'
	@echo 'make format     clang-format in place'
	@echo 'make uninstall, make clean'

# --- compiling -------------------------------------------------------------------------------

# Where an installed launcher lies is known to one file only.
$(B)/prefix: FORCE
	@mkdir -p $(@D)
	@echo '$(PREFIX)' | cmp -s - $@ || echo '$(PREFIX)' > $@
$(B)/src/engine/engine.o: $(B)/prefix
$(B)/src/engine/engine.o: private CFLAGS_ALL += -DNACRE_LAUNCHER='"$(PREFIX)/libexec/nacre/nacre-launch"'

# libfyaml.h has a banned function in its macros, so this one file sees it before the ban.
$(B)/src/base/yaml.o: private CFLAGS_ALL := -include libfyaml.h $(CFLAGS_ALL)

# A change of flags or of the compiler makes everything anew.
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) $(LAUNCH_CC) $(LAUNCH_CFLAGS) $(LAUNCH_LDFLAGS) $(LAUNCH_START)' | cmp -s - $@ || \
	 echo '$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) $(LAUNCH_CC) $(LAUNCH_CFLAGS) $(LAUNCH_LDFLAGS) $(LAUNCH_START)' > $@

$(B)/src/%.o: src/%.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -MMD -MP -c $< -o $@

# musl brings no headers of the kernel's: those of the system, and nothing else of it.
$(B)/kernel:
	@mkdir -p $@
	$(Q)ln -sfn /usr/include/linux $@/linux
	$(Q)ln -sfn /usr/include/asm-generic $@/asm-generic
	$(Q)ln -sfn /usr/include/$(shell gcc -print-multiarch)/asm $@/asm

$(B)/launch/%.o: %.c $(B)/flags | $(B)/kernel
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(LAUNCH_CC) $(LAUNCH_CFLAGS) -MMD -MP -c $< -o $@

# What is known about commands, from YAML to tables of C.
$(B)/embed-commands: tools/embed-commands.c $(B)/src/facts/knowledge_read.o $(call archive,base)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $^ $(LDFLAGS_ALL) $(LIBS) -o $@

$(B)/gen/knowledge_data.c: $(B)/embed-commands $(KNOWLEDGE)
	@mkdir -p $(@D)
	$(Q)$(B)/embed-commands $(KNOWLEDGE) > $@.new
	$(Q)mv $@.new $@

# The profiles and the agents that come with nacre, likewise.
$(B)/embed-policies: tools/embed-policies.c $(call archive,base)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $^ $(LDFLAGS_ALL) $(LIBS) -o $@

$(B)/gen/policy_data.c: $(B)/embed-policies $(POLICIES)
	@mkdir -p $(@D)
	$(Q)$(B)/embed-policies $(POLICIES) > $@.new
	$(Q)mv $@.new $@

# The rules for secrets, from YAML to the tables that the scanner uses; and their examples, for a test.
$(B)/embed-secrets: tools/embed-secrets.c $(B)/src/redact/maker.o $(B)/src/redact/pattern.o $(call archive,base)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $^ $(LDFLAGS_ALL) $(LIBS) -o $@

$(B)/gen/secrets_data.c: $(B)/embed-secrets $(SECRETS)
	@mkdir -p $(@D)
	$(Q)$(B)/embed-secrets rules $(SECRETS) > $@.new
	$(Q)mv $@.new $@

$(B)/gen/secrets_examples.c: $(B)/embed-secrets $(SECRETS)
	@mkdir -p $(@D)
	$(Q)$(B)/embed-secrets examples $(SECRETS) > $@.new
	$(Q)mv $@.new $@

$(B)/gen/%.o: $(B)/gen/%.c $(B)/flags
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -MMD -MP -c $< -o $@

define room_archive
$(call archive,$(1)): $(call objects,$(call room_sources,$(1))) $(generated_$(1))
	@rm -f $$@
	$(Q)ar rcs $$@ $$^
endef
$(foreach r,$(ROOMS),$(eval $(call room_archive,$(r))))

$(B)/nacre: $(B)/src/cli/main.o $(call upto,cli)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $($(VARIANT)_PROGRAM) $^ $(LDFLAGS_ALL) $(LIBS) -o $@

# The verifier: an auditor reads these two rooms and no more.
$(B)/src/ledger/verify/main.o: private CFLAGS_ALL += -DNACRE_VERSION='"$(VERSION)"'
$(B)/nacre-verify: $(B)/src/ledger/verify/main.o $(call upto,ledger)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $($(VARIANT)_PROGRAM) $^ $(LDFLAGS_ALL) $(LIBS) -o $@

# The program without the policy, for tests that try the walls alone; never installed.
$(B)/unjudged/main.o: src/cli/main.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -DNACRE_UNJUDGED -MMD -MP -c $< -o $@

$(B)/unjudged/nacre: $(B)/unjudged/main.o $(call upto,cli) | $(B)/unjudged/nacre-launch
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $($(VARIANT)_PROGRAM) $^ $(LDFLAGS_ALL) $(LIBS) -o $@

# Beside its launcher, where every build looks for it.
$(B)/unjudged/nacre-launch: $(B)/nacre-launch
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(B)/nacre-launch: $(LAUNCH_OBJECTS)
	$(call say,LINK,$@)
	$(Q)$(LAUNCH_CC) $(LAUNCH_CFLAGS) $(LAUNCH_START) $^ $(LAUNCH_END) $(LAUNCH_LDFLAGS) -o $@

$(B)/libnacre.so: $(LIBRARY_OBJECTS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -shared -Wl,-soname,$(SONAME) $^ $(LDFLAGS_ALL) $(LIBS) -o $@
	$(Q)ln -sf libnacre.so $(B)/$(SONAME)

# One object in which every name but the public ones is local: no clash with the host's names.
$(B)/libnacre.a: $(LIBRARY_OBJECTS)
	$(Q)$(LD) -r $^ -o $(B)/libnacre.o
	$(Q)objcopy --localize-hidden $(B)/libnacre.o
	@rm -f $@
	$(Q)ar rcs $@ $(B)/libnacre.o

# The manual's tables come from the tables of the command line.
$(B)/manual: $(B)/src/cli/manual.o $(call upto,cli)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $^ $(LDFLAGS_ALL) $(LIBS) -o $@

$(B)/nacre.1: man/nacre.1.in $(B)/manual
	$(Q)$(B)/manual > $(B)/tables.mdoc
	$(Q)sed -e '/^@TABLES@$$/{r $(B)/tables.mdoc' -e 'd}' $< > $@

# --- tests -----------------------------------------------------------------------------------

# ROOM_test.c or ROOM_TOPIC_test.c: linked with that room and those before it, nothing else.
define unit_test
$(B)/unit/$(1): tests/unit/$(1).c tests/unit/tap.h $(call upto,$(firstword $(subst _, ,$(1))))
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)
	$(Q)$(CC) $(CFLAGS_ALL) -MMD -MP $$(filter %.c %.a,$$^) $(LDFLAGS_ALL) $(LIBS) -o $$@
endef
$(foreach t,$(notdir $(UNIT_TESTS)),$(eval $(call unit_test,$(t))))

$(B)/unit/redact_rules_test $(B)/unit/redact_stream_test: $(B)/gen/secrets_examples.c

# The fuzz targets twice: as a program that replays a corpus with any compiler, and for libFuzzer.
$(B)/replay/%: tests/fuzz/%.c tests/fuzz/replay.c $(call upto,serve)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(filter %.c %.a,$^) $(LDFLAGS_ALL) $(LIBS) -o $@

$(B)/fuzz/%: tests/fuzz/%.c $(call upto,serve)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -fsanitize=fuzzer $(filter %.c %.a,$^) $(LDFLAGS_ALL) $(LIBS) -o $@

$(foreach t,shell_parse shell_round session,$(B)/replay/$(t) $(B)/fuzz/$(t)): tests/unit/shell_check.h
$(B)/replay/text_diff $(B)/fuzz/text_diff: tests/unit/apply_patch.h

ifeq ($(VARIANT),fuzz)
fuzzers: $(FUZZERS)
else
fuzzers:
	+$(MAKE) --no-print-directory VARIANT=fuzz fuzzers
endif

$(B)/tools/shellgen: tests/tools/shellgen_grammar.h

# Only to compare with: nothing of ours links libseccomp.
$(B)/bench/seccomp: tests/bench/seccomp.c $(B)/launch/src/sandbox/launch/filter_calls.o
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $^ $(LDFLAGS_ALL) -lseccomp -o $@

# Here too: SQLite is only what the ledger is compared with.
$(B)/bench/ledger: tests/bench/ledger.c $(call upto,ledger)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $^ $(LDFLAGS_ALL) $(LIBS) -lsqlite3 -o $@

$(B)/bench/%: tests/bench/%.c $(call upto,engine)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $^ $(LDFLAGS_ALL) $(LIBS) -o $@

# Two of the tools speak to the room of their name.
$(B)/tools/ledger: $(call upto,ledger)
$(B)/tools/history: $(call upto,history)
$(B)/tools/ledger $(B)/tools/history: $(B)/tools/%: tests/tools/%.c
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -MMD -MP $(filter %.c %.a,$^) $(LDFLAGS_ALL) $(LIBS) -o $@

$(B)/tools/%: tests/tools/%.c
	@mkdir -p $(@D)
	$(Q)$(release_CC) -std=gnu17 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror $< -o $@

# bash's own parser, as a builtin of bash, and what compares nacre's with it. No sanitizers in bash.
$(B)/oracle/oracle.so: tests/oracle/oracle.c tests/oracle/tree.c tests/oracle/tree.h tests/oracle/build
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)CC=$(release_CC) tests/oracle/build $@

$(B)/oracle/compare: tests/oracle/compare.c tests/oracle/ours.c tests/oracle/ours.h $(call upto,shell)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -MMD -MP $(filter %.c %.a,$^) $(LDFLAGS_ALL) $(LIBS) -o $@

deps:
	@scripts/deps build

run:
	@scripts/deps build
	@+$(MAKE) --no-print-directory -s programs
	@scripts/demo $(B)/nacre

test:
	@scripts/deps build test
	+$(MAKE) --no-print-directory -s VARIANT=release programs unit
	+$(MAKE) --no-print-directory -s VARIANT=asan programs unit
	+tests/run

agents:
	@scripts/deps build test
	+$(MAKE) --no-print-directory -s VARIANT=release programs
	scripts/deps agents build/agents
	tests/agents/run build/agents

soak:
	@scripts/deps build test
	+$(MAKE) --no-print-directory -s VARIANT=release programs unit
	+$(MAKE) --no-print-directory -s VARIANT=asan programs unit
	+SOAK=10 tests/run

bench:
	@scripts/deps build test bench
	+$(MAKE) --no-print-directory -s VARIANT=release programs unit build/release/bench/shell build/release/bench/verdict build/release/bench/seccomp build/release/bench/fs_hash build/release/bench/redact build/release/bench/ledger build/release/bench/recording build/release/bench/history build/release/bench/warm build/release/bench/exec build/release/bench/mcp
	HISTORY=$(HISTORY) tests/bench/run

lint:
	@scripts/deps build lint
	scripts/lint

format:
	clang-format -i $$(git ls-files '*.c' '*.h')

# --- installing ------------------------------------------------------------------------------

install: programs
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec/nacre $(DESTDIR)$(PREFIX)/include \
	    $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/share/man/man1 \
	    $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
	    $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	install -m 755 $(B)/nacre $(DESTDIR)$(PREFIX)/bin/nacre
	install -m 755 $(B)/nacre-verify $(DESTDIR)$(PREFIX)/bin/nacre-verify
	install -m 755 $(B)/nacre-launch $(DESTDIR)$(PREFIX)/libexec/nacre/nacre-launch
	install -m 644 include/nacre.h $(DESTDIR)$(PREFIX)/include/nacre.h
	install -m 644 $(B)/libnacre.a $(DESTDIR)$(PREFIX)/lib/libnacre.a
	install -m 755 $(B)/libnacre.so $(DESTDIR)$(PREFIX)/lib/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(PREFIX)/lib/libnacre.so
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' scripts/nacre.pc.in | \
	    install -m 644 /dev/stdin $(DESTDIR)$(PREFIX)/lib/pkgconfig/nacre.pc
	install -m 644 $(B)/nacre.1 $(DESTDIR)$(PREFIX)/share/man/man1/nacre.1
	install -m 644 man/nacre-verify.1 $(DESTDIR)$(PREFIX)/share/man/man1/nacre-verify.1
	$(B)/nacre completion bash | install -m 644 /dev/stdin $(DESTDIR)$(PREFIX)/share/bash-completion/completions/nacre
	$(B)/nacre completion zsh | install -m 644 /dev/stdin $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_nacre
	$(B)/nacre completion fish | install -m 644 /dev/stdin $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/nacre.fish

uninstall:
	rm -rf $(DESTDIR)$(PREFIX)/libexec/nacre
	rm -f $(DESTDIR)$(PREFIX)/bin/nacre $(DESTDIR)$(PREFIX)/bin/nacre-verify \
	    $(DESTDIR)$(PREFIX)/share/man/man1/nacre-verify.1 $(DESTDIR)$(PREFIX)/include/nacre.h \
	    $(DESTDIR)$(PREFIX)/lib/libnacre.a $(DESTDIR)$(PREFIX)/lib/$(SONAME) \
	    $(DESTDIR)$(PREFIX)/lib/libnacre.so $(DESTDIR)$(PREFIX)/lib/pkgconfig/nacre.pc \
	    $(DESTDIR)$(PREFIX)/share/man/man1/nacre.1 \
	    $(DESTDIR)$(PREFIX)/share/bash-completion/completions/nacre \
	    $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_nacre \
	    $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/nacre.fish

clean:
	rm -rf build

-include $(shell find build/$(VARIANT) -name '*.d' 2>/dev/null)
