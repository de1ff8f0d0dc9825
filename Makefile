# dcgan. `make help` lists the targets; nothing here needs editing: pass variables on the command line
# (make CC=clang, make SAN=1, make V=1) or put them into config.mk.
-include config.mk

VERSION := $(shell sed -n 's/^\#define DCGAN_VERSION "\(.*\)"/\1/p' include/dcgan.h)
CC      ?= cc
CFLAGS  ?= $(if $(SAN),-O1 -g1,-O2 -g)
PREFIX  ?= /usr/local
bindir  ?= $(PREFIX)/bin
libdir  ?= $(PREFIX)/lib
incdir  ?= $(PREFIX)/include
datadir ?= $(PREFIX)/share
mandir  ?= $(datadir)/man
compdir ?= $(datadir)/bash-completion/completions
zshdir ?= $(datadir)/zsh/site-functions
fishdir ?= $(datadir)/fish/vendor_completions.d
OBJCOPY ?= objcopy
BUILD   ?= build$(if $(SAN),-san)
Q       := $(if $(V),,@)
comma   := ,
below    = $(wildcard $(1)/*$(2) $(1)/*/*$(2) $(1)/*/*/*$(2) $(1)/*/*/*/*$(2)) # files: $(call below,core,.c)

# The plain build puts the program here; other builds keep it with their objects. RUN: the program as a command.
PROGRAM := $(if $(filter build,$(BUILD)),dcgan,$(BUILD)/dcgan)
RUN     := $(if $(filter-out /%,$(PROGRAM)),./)$(PROGRAM)

# All cores, unless the user gave a -j. A command that removes and builds does so in that order.
ifeq ($(MAKELEVEL)$(filter -j% --jobs%,$(shell echo "$$MAKEFLAGS"))$(filter clean distclean,$(MAKECMDGOALS)),0)
MAKEFLAGS += -j$(or $(shell nproc 2>/dev/null),1)
endif

# A switch over an enum without one of its values does not build.
WARN     := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror=switch $(if $(WERROR),-Werror)
SANFLAGS := $(if $(SAN),-fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
PIC      := -fPIC -fvisibility=hidden # the same objects are in the program and in the shared library
KOPT     ?= $(if $(SAN),-O2,-O3)# of the CPU kernels
KFLAGS    = $(KOPT) -ffp-contract=fast -fno-math-errno -fno-trapping-math

# Properties of the compiler and the system, found once by scripts/build/detect: OPENMP, HARDEN, HARDEN_LD, PREFIX_MAP,
# DEP_CFLAGS, DEP_LIBS, ISAS, FOUND. Found again, and everything rebuilt, if the compiler or the flags below change.
TIFF_ASKED  := $(if $(filter undefined,$(origin TIFF)),find,$(TIFF))
MPICC_ASKED := $(if $(filter undefined,$(origin MPICC)),find,$(MPICC))
FLAGS_TEXT := $(CC) | $(CPPFLAGS) | $(CFLAGS) | $(LDFLAGS) | $(WARN) | $(SANFLAGS) | $(KFLAGS) | $(PIC)\
              $(if $(ISAS), | $(ISAS)) | MPI $(MPICC_ASKED) | TIFF $(TIFF_ASKED)
NO_BUILD   := clean deb dist distclean format help install lint uninstall
ifneq ($(filter-out $(NO_BUILD),$(or $(MAKECMDGOALS),all)),)
include $(BUILD)/found.mk
include kernels/cuda/cuda.mk
endif

ALL_CFLAGS  = -std=c11 -D_GNU_SOURCE -I. $(WARN) $(DEP_CFLAGS) $(OPENMP) $(PIC) $(HARDEN) $(PREFIX_MAP) \
              $(SANFLAGS) $(CPPFLAGS) $(CFLAGS)
ALL_LDFLAGS = $(OPENMP) -pthread $(HARDEN_LD) $(SANFLAGS) $(LDFLAGS)

# The folder of a file determines how it is compiled: C below kernels/ops once per instruction set and type of real
# (kernels/cpu/cpu.h), except rows (op.c, ops.c, and those of the CUDA variants in cuda/); all other C once.
# UndefinedBehaviorSanitizer doubles the time to compile a kernel, so only the kernels for `base` have its checks.
ISA_base   :=
ISA_avx2   := -march=x86-64-v3 $(if $(SAN),-fno-sanitize=undefined)
ISA_avx512 := -march=x86-64-v4 -mprefer-vector-width=512 $(if $(SAN),-fno-sanitize=undefined)
OPS_C     := $(sort $(call below,kernels/ops,.c))
ROWS      := $(foreach f,$(OPS_C),$(if $(filter op.c ops.c,$(notdir $(f)))$(findstring /cuda/,$(f)),$(f)))
MULTI     := $(patsubst kernels/%.c,%,$(filter-out $(ROWS),$(OPS_C)))

COUNTS    := $(BUILD)/core/tune/counts_csv.o
HOST_SRC  := $(filter-out host/cli/main.c host/group/mpi/%,$(call below,core,.c) $(call below,host,.c)) \
             $(filter-out %/no_cuda.c,$(wildcard $(patsubst %,kernels/%/*.c,cpu cuda fused))) $(ROWS)
HOST_OBJ  := $(HOST_SRC:%.c=$(BUILD)/%.o) $(BUILD)/models.o $(BUILD)/tuning.o $(BUILD)/page.o \
             $(BUILD)/runtime.o $(COUNTS)
KERN_OBJ  := $(foreach i,$(ISAS),$(foreach f,32 64,$(MULTI:%=$(BUILD)/kernels/%.$(i).f$(f).o)))
LIB       := $(BUILD)/host.a
LIBS      := $(LIB) $(CUDA_LIB) $(LIB) # each needs the other
# The library exports only what include/dcgan.h declares.
SONAME    := libdcgan.so.$(firstword $(subst ., ,$(VERSION)))
LIBRARY   := $(BUILD)/libdcgan.a $(BUILD)/$(SONAME) $(BUILD)/dcgan.pc.in
PUBLIC    := $(patsubst %.c,$(BUILD)/%.o,$(wildcard host/lib/*.c))
# Tests are stored in the directories of what they test, their programs in $(BUILD)/tests/test_X. The folder of a .cu
# determines where it runs: sim/sim.mk, tests/gpu.mk.
TEST_SRC   := $(sort $(wildcard $(patsubst %,tests/%/*/test_*.c,core kernels host)))
NVCC_TESTS := $(sort $(wildcard tests/kernels/nvcc/test_*.cu))
CU_TESTS   := $(filter-out $(NVCC_TESTS),$(sort $(wildcard tests/kernels/*/test_*.cu)))
vpath test_%.c $(sort $(dir $(TEST_SRC)))
vpath test_%.cu $(sort $(dir $(CU_TESTS) $(NVCC_TESTS)))
vpath fuzz_%.c tests/fuzz

# SAN_FOLLOWS=1: a run with SAN=1 and scripts/lint follow, as in scripts/check. Leaves out what they test as well: the
# fuzzers' seeds, the hostile scripts, the layering, and the tests of core/ and host/ that do the same with sanitizers.
WEAKER    := failing[.]h|child[.]h|decoding[.]h|SANITIZED
LEFT_OUT  := $(if $(SAN_FOLLOWS),$(shell grep -LE '$(WEAKER)' $(filter-out tests/kernels/%,$(TEST_SRC))))
TESTS     := $(patsubst %.c,$(BUILD)/tests/%,$(notdir $(filter-out $(LEFT_OUT),$(TEST_SRC))))
# The longest test starts first, or it would run alone at the end.
LONGEST    := tests/cli/torture.sh
# Scripts in which sanitizers find nothing new: docs/testing.md has the reasons.
ONCE       := build_cuda calls compilers cuda_archs keys library pages pre_commit races reference eval_numpy export \
              onnx torch_names batch check energy eval eval_every fid limits profile classify conditional doctor find \
              gan image_file models penalty plurals precision ranks_ends report schedule spectral tensorboard zca
CLI_TESTS  := $(filter-out $(LONGEST) $(if $(SAN),$(ONCE:%=tests/cli/%.sh)),$(wildcard tests/cli/*.sh))
LONG_TESTS := $(wildcard tests/cli/long/*.sh)
# The tests with most error paths, also with sanitizers.
HOSTILE_TESTS := $(filter %/full_disk.sh %/run_directory.sh,$(LONG_TESTS))
REFERENCE := $(patsubst tests/%.c,$(BUILD)/tests/%.o,$(wildcard tests/reference*.c))
REFERENCE_LIB := $(BUILD)/tests/reference.a
MODELS    := $(sort $(wildcard models/*.cfg))
DOCS      := $(BUILD)/dcgan.1 $(BUILD)/dcgan.bash $(BUILD)/dcgan.zsh $(BUILD)/dcgan.fish
# The plugin for MPI, once per MPI that was found, is next to the program.
PLUGINS   := $(MPIS:%=$(dir $(PROGRAM))dcgan-mpi-%.so)

.PHONY: all lib tests check check-all install uninstall clean distclean help format lint reference torture fuzz \
        fuzzers soak ptx-soak deb dist FORCE
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:

all: $(PROGRAM) $(PLUGINS) $(LIBRARY) $(DOCS) ## the program, the library, man page and shell completion (default)
	@echo "$(PROGRAM) $(VERSION): $(FOUND)"

$(PROGRAM): $(BUILD)/host/cli/main.o $(LIB) $(CUDA_LIB)
	@echo "  LINK  $@"
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $< $(LIBS) $(DEP_LIBS) $(CUDA_LIBS)

$(LIB): $(HOST_OBJ) $(KERN_OBJ)
	@echo "  AR    $@"
	$(Q)rm -f $@ && $(AR) rcs $@ $^

lib: $(LIBRARY) ## only the library
# Inline variables of the CUDA part are unique symbols in groups; both must be removed to make them local.
$(BUILD)/libdcgan.o: $(PUBLIC) $(LIB) $(CUDA_LIB)
	$(Q)$(CC) -r -nostdlib -Wl,--force-group-allocation -o $@ $(PUBLIC) $(LIBS)
	$(Q)$(OBJCOPY) --wildcard --weaken-symbol='dev_*' $@
	$(Q)$(OBJCOPY) --wildcard --keep-global-symbol='dcgan_*' $@
$(BUILD)/libdcgan.a: $(BUILD)/libdcgan.o
	@echo "  AR    $@"
	$(Q)rm -f $@ && $(AR) rcs $@ $<
$(BUILD)/$(SONAME): $(PUBLIC) $(LIB) $(CUDA_LIB) host/lib/exports.map
	@echo "  LINK  $@"
	$(Q)$(CC) -shared $(filter-out -pie,$(ALL_LDFLAGS)) -Wl,-soname,$(SONAME) \
	    -Wl,--version-script=host/lib/exports.map -o $@ $(PUBLIC) $(LIBS) $(DEP_LIBS) $(CUDA_LIBS)
$(BUILD)/dcgan.pc.in: host/lib/dcgan.pc.in include/dcgan.h $(BUILD)/flags $(BUILD)/cuda-found.mk
	$(Q)sed -e 's|@VERSION@|$(VERSION)|' \
	    -e 's|@LIBS@|$(strip $(DEP_LIBS) $(CUDA_LIBS) $(OPENMP) $(SANFLAGS) -pthread)|' $< > $@

$(dir $(PROGRAM))dcgan-mpi-%.so: host/group/mpi/plugin.c $(BUILD)/flags
	@echo "  MPI   $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(MPI_CFLAGS_$*) -MMD -MP -MF $(BUILD)/mpi-$*.d -shared \
	    $(filter-out -pie,$(ALL_LDFLAGS)) -o $@ $< $(MPI_LIBS_$*)

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CCACHE) $(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/kernels/cpu/backend_cpu.o: ALL_CFLAGS += $(ISAS:%=-DDG_HAVE_%)
$(BUILD)/tests/%: private ALL_CFLAGS += $(ISAS:%=-DDG_HAVE_%)

define kernel_rule
$(BUILD)/kernels/%.$(1).f$(2).o: kernels/%.c $(BUILD)/flags
	@mkdir -p $$(@D)
	@echo "  CC    $$< ($(1), fp$(2))"
	$(Q)$(CCACHE) $$(CC) $$(ALL_CFLAGS) $$(KFLAGS) $$(ISA_$(1)) -DDG_ISA=$(1) -DDG_FP=$(2) -MMD -MP -c -o $$@ $$<
endef
$(foreach i,$(ISAS),$(foreach f,32 64,$(eval $(call kernel_rule,$(i),$(f)))))

# Files inside the program: the models, so that --model dcgan64 works wherever it is installed; the tuning tables; the
# cost model's counts; style and script of report.html; what runs G in exported files. A script embed-NAME writes them
# as C source.
embed = @mkdir -p $(@D) && sh scripts/build/embed-$(1) $(filter-out scripts/%,$^) > $@.tmp && mv $@.tmp $@
$(BUILD)/models.c: $(MODELS) scripts/build/embed-models
	$(call embed,models)
$(BUILD)/tuning.c: $(sort $(wildcard kernels/tuning/*.tune)) scripts/build/embed-tuning
	$(call embed,tuning)
$(COUNTS:.o=.c): core/tune/counts.csv scripts/build/embed-counts
	$(call embed,counts)
$(BUILD)/page.c: $(wildcard host/report/page.*) scripts/build/embed-text
	$(call embed,text)
$(BUILD)/runtime.c: $(wildcard $(addprefix host/export/*.,css in js)) scripts/build/embed-text
	$(call embed,text)
$(COUNTS): core/tune/cost.h
$(BUILD)/models.o $(BUILD)/tuning.o $(BUILD)/page.o $(BUILD)/runtime.o $(COUNTS): %.o: %.c $(BUILD)/flags
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

# Files that are rewritten only if their text changes, so that their dependents are rebuilt only then.
update = @mkdir -p $(BUILD) && printf '%s\n' $(1) > $@.tmp && \
	if cmp -s $@.tmp $@; then rm $@.tmp; else mv $@.tmp $@; fi
quoted = '$(subst ','\'',$(1))'
COMMIT  = $(shell [ ! -e .git ] || \
            git -c safe.directory='*' describe --always --dirty=+ --abbrev=10 --exclude='*' 2>/dev/null)
$(BUILD)/flags: FORCE
	$(call update,$(call quoted,$(FLAGS_TEXT)))
$(BUILD)/version.h: FORCE
	$(call update,'#define DG_VERSION "dcgan $(VERSION)$(if $(COMMIT), ($(COMMIT)))"' '#define DG_FEATURES "$(FOUND)"' \
	    '#define DG_LIBDIR "$(libdir)"')
$(BUILD)/core/base/build_info.o: ALL_CFLAGS += -I$(BUILD)
$(BUILD)/host/image/image_tiff.o: ALL_CFLAGS += $(TIFF_CFLAGS)
$(BUILD)/core/base/build_info.o: $(BUILD)/version.h

$(BUILD)/found.mk: scripts/build/detect $(BUILD)/flags
	$(Q)CC='$(CC)' CFLAGS='$(CPPFLAGS) $(CFLAGS)' LDFLAGS='$(LDFLAGS)' SAN='$(SAN)' \
	    MPICC='$(MPICC_ASKED)' TIFF='$(TIFF_ASKED)' sh scripts/build/detect > $@.tmp
	@mv $@.tmp $@

# The texts of commands and options come from the program.
$(BUILD)/dcgan.1: man/dcgan.1.in $(PROGRAM)
	$(Q)$(RUN) --help-man > $@.tmp
	$(Q)sed -e 's/@VERSION@/$(VERSION)/' -e '/^@REFERENCE@/{r $@.tmp' -e 'd}' $< > $@
	@rm $@.tmp
$(BUILD)/dcgan.bash $(BUILD)/dcgan.zsh $(BUILD)/dcgan.fish: $(BUILD)/dcgan.%: $(PROGRAM)
	$(Q)$(RUN) --completion-$* > $@
reference: $(PROGRAM) ## renew the generated part of docs/reference.md
	$(Q)$(RUN) --help-md > $(BUILD)/reference.md
	$(Q)sed -i -e '/^<!-- begin/,/^<!-- end/{/^<!-- begin/{p;r $(BUILD)/reference.md' -e '};/^<!-- end/!d}' \
	    docs/reference.md

# Targets of tests/fuzz: with libFuzzer, or with driver.c, which runs the kept inputs.
FUZZ_SRC    := $(wildcard tests/fuzz/*.c)
FUZZERS     := $(patsubst tests/fuzz/%.c,$(BUILD)/tests/%,$(filter tests/fuzz/fuzz_%,$(FUZZ_SRC)))
FUZZ_COMMON := $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(if $(FUZZER),%/driver.c) tests/fuzz/fuzz_%,$(FUZZ_SRC)))
$(FUZZ_COMMON): ALL_CFLAGS += -Itests
$(BUILD)/tests/fuzz_%: fuzz_%.c $(FUZZ_COMMON) $(LIB) $(CUDA_LIB) $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  FUZZ  $@"
	$(Q)$(CC) $(ALL_CFLAGS) -Itests -MMD -MP $(ALL_LDFLAGS) $(FUZZER) -o $@ $< $(FUZZ_COMMON) $(LIBS) $(DEP_LIBS) \
	    $(CUDA_LIBS)

# An archive: a test that does not use the reference need not link all kernels.
$(REFERENCE_LIB): $(REFERENCE)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(BUILD)/tests/%: %.c $(REFERENCE_LIB) $(LIB) $(CUDA_LIB) $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  TEST  $@"
	$(Q)$(CC) $(ALL_CFLAGS) -Itests -fvisibility=default -MMD -MP $(ALL_LDFLAGS) $(FUZZER) -o $@ $< \
	    $(REFERENCE_LIB) $(LIBS) $(DEP_LIBS) $(CUDA_LIBS)

# core/ links without the rest.
CORE_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(call below,core,.c)) $(COUNTS)
$(BUILD)/tests/test_alone: test_alone.c $(CORE_OBJ) $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  TEST  $@"
	$(Q)$(CC) $(ALL_CFLAGS) -Itests -MMD -MP $(ALL_LDFLAGS) $(FUZZER) -o $@ $< $(CORE_OBJ) $(DEP_LIBS)

# Libraries that tests preload into the program: they make its calls fail, kill it, or record its writes.
PRELOADS := $(patsubst tests/%.c,$(BUILD)/tests/%.so,$(wildcard tests/preload/*.c))
RUN_PRELOADS := $(abspath $(BUILD)/tests/preload)
$(BUILD)/tests/preload/%.so: tests/preload/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  TEST  $@"
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -I. $(WARN) -O2 -g -shared -fPIC -MMD -MP -o $@ $< -ldl

tests: $(TESTS) $(FUZZERS) $(PRELOADS) ## build the tests
RUN_TESTS = OBJECTS='$(BUILD)' RUN_TIMES=$(BUILD)/times DCGAN=$(RUN) SIM_DCGAN=$(SIM_PROGRAM) \
    PRELOADS='$(RUN_PRELOADS)' TORTURE_EVERY=$(if $(SAN)$(filter check,$(MAKECMDGOALS)),250,200) \
    sh scripts/run-tests
check check-all: $(PLUGINS)
ifneq ($(ROOM),)
ROOM_TESTS := $(patsubst %.c,$(BUILD)/tests/%,$(notdir $(filter tests/$(ROOM)/%,$(TEST_SRC))))
$(if $(ROOM_TESTS),,$(error ROOM=$(ROOM): no C test in tests/$(ROOM); a room is core/plan, host/data ...))
check: $(PROGRAM) $(ROOM_TESTS)
	$(Q)$(RUN_TESTS) scripts/walls scripts/calls $(ROOM_TESTS)
else
check: $(PROGRAM) $(LIBRARY) $(TESTS) $(FUZZERS) $(PRELOADS) ## the tests of some minutes, or ROOM=core/plan alone
	$(Q)$(RUN_TESTS) $(LONGEST) scripts/walls scripts/calls $(TESTS) $(FUZZERS) $(CLI_TESTS) $(SIM_QUICK) $(GPU_PARTS)
endif
# With sanitizers only the long tests of error paths: the others take minutes in code that the C tests cover.
SEEDS := $(if $(SAN_FOLLOWS),,$(FUZZERS))
check-all: $(PROGRAM) $(LIBRARY) $(TESTS) $(SEEDS) $(PRELOADS) ## every test, all flavours of the simulator
	$(Q)$(RUN_TESTS) $(LONGEST) $(if $(SAN),$(HOSTILE_TESTS),$(if $(SAN_FOLLOWS),$(filter-out $(HOSTILE_TESTS), \
	    $(LONG_TESTS)),scripts/walls scripts/calls $(LONG_TESTS))) $(SIM_PARTS) \
	    $(TESTS) $(SEEDS) $(CLI_TESTS) $(GPU_PARTS)

TORTURE = DCGAN=$(RUN) PRELOADS='$(RUN_PRELOADS)' python3 tests/torture/torture.py
torture: $(PROGRAM) $(PRELOADS) ## every call of every command fails once, power failures, limits; SAN=1: allocations
	$(Q)$(TORTURE)
FUZZ_SECONDS ?= 60
SOAK_MINUTES ?= 60
fuzzers: $(FUZZERS)
# FUZZ_SOURCES: a folder with the sources of zlib, libpng and libjpeg-turbo, which are then instrumented, too.
FUZZ_BUILD  := build-fuzz$(if $(FUZZ_SOURCES),-sources)
# Kernels for one instruction set only, compiled quickly: they do not read untrusted bytes.
FUZZ_CFLAGS := -O2 -g -fsanitize=fuzzer-no-link
FUZZ_KFLAGS := -O1 -fno-sanitize=undefined,fuzzer-no-link
fuzz: ## fuzz every reader of files, FUZZ_SECONDS (60) each, or FUZZ_TARGETS="png log" alone; needs clang
	$(Q)$(if $(FUZZ_SOURCES),CC=clang CFLAGS='$(FUZZ_CFLAGS) -fsanitize=address' \
	    sh scripts/fuzz/libraries '$(FUZZ_SOURCES)' $(FUZZ_BUILD)/libraries)
	$(Q)$(if $(FUZZ_SOURCES),PKG_CONFIG_PATH='$(abspath $(FUZZ_BUILD))/libraries/lib/pkgconfig') \
	    $(MAKE) CC=clang BUILD=$(FUZZ_BUILD) SAN=1 ISAS=base CFLAGS='$(FUZZ_CFLAGS)' KFLAGS='$(FUZZ_KFLAGS)' \
	    LDFLAGS=-fsanitize=fuzzer-no-link,address FUZZER=-fsanitize=fuzzer fuzzers
	$(Q)sh scripts/fuzz/run $(FUZZ_BUILD) $(FUZZ_SECONDS) $(FUZZ_TARGETS)
# Every command runs, also after failures. The tests run with 1 to 7 threads, depending on the day.
soak: export SOAK = 1
soak: SECONDS = $$(($(SOAK_MINUTES) * 20))
soak: FAILS = || touch $(BUILD)/soak-failed
soak: $(PROGRAM) $(PRELOADS) $(BUILD)/tests/test_large_cache ## kills, torture, check-all, watched, fuzz, GPUs
	$(Q)rm -f $(BUILD)/soak-failed
	$(Q)$(TORTURE) kills --kills $$(($(SOAK_MINUTES) * 200)) --seed $$$$ $(FAILS)
	$(Q)DCGAN=$(RUN) PRELOADS='$(RUN_PRELOADS)' sh tests/cli/ranks_ends.sh 20 $(FAILS)
	$(Q)DCGAN=$(RUN) OBJECTS='$(BUILD)' sh tests/cli/long/large_cache.sh 1000000 $(FAILS)
	$(Q)$(TORTURE) --every $$((1 + 120 / $(SOAK_MINUTES))) --seed $$$$ $(FAILS)
	$(Q)sh scripts/deb --check $(FAILS)
	$(Q)$(if $(SAN),,DG_TEST_LARGE=1) OMP_NUM_THREADS=$$(($$(date +%-d) % 7 + 1)) $(MAKE) check-all $(FAILS)
	$(Q)sh scripts/watched tsan $(SECONDS) $(FAILS)
	$(Q)sh scripts/watched valgrind $(SECONDS) $(FAILS)
	$(Q)sh scripts/cuda-archs --all $(FAILS)
	$(Q)! grep -q '^CUDA_PTX' $(BUILD)/cuda-found.mk || $(MAKE) gpu-tests $(FAILS)
	$(Q)$(if $(SAN),,sh scripts/ptx-check $(FAILS))
	$(Q)sh scripts/lint $(FAILS)
	$(Q)$(MAKE) fuzz FUZZ_SECONDS=$$(($(SECONDS) / $(words $(FUZZERS)))) $(FAILS)
	$(Q)[ ! -e $(BUILD)/soak-failed ]

dist: ## the committed sources as build-release/dcgan-VERSION.tar.gz, which builds without git
	$(Q)mkdir -p build-release
	$(Q)git archive --format=tar.gz --prefix=dcgan-$(VERSION)/ -o build-release/dcgan-$(VERSION).tar.gz HEAD
	@echo build-release/dcgan-$(VERSION).tar.gz

deb: ## Debian packages in build-deb/, without CUDA
	$(Q)sh scripts/deb

ptx-soak: ## scripts/ptx-check with more models, batches, tests and orders of warps
	$(Q)sh scripts/ptx-check --long

# Does not compile: root would use other settings and leave files in the build that the user cannot change.
install: $(filter all check check-all tests,$(MAKECMDGOALS)) ## install what make built below PREFIX or DESTDIR
	@for f in $(PROGRAM) $(LIBRARY) $(DOCS); do \
	    [ -e "$$f" ] || { echo "There is no $$f to install yet: run make first, then make install" >&2; exit 1; }; \
	done
	install -d '$(DESTDIR)$(bindir)' '$(DESTDIR)$(mandir)/man1' '$(DESTDIR)$(datadir)/dcgan/models' \
	    '$(DESTDIR)$(compdir)' '$(DESTDIR)$(zshdir)' '$(DESTDIR)$(fishdir)' '$(DESTDIR)$(libdir)/pkgconfig' \
	    '$(DESTDIR)$(incdir)'
	install -m 755 $(PROGRAM) '$(DESTDIR)$(bindir)/dcgan'
	install -m 644 $(BUILD)/dcgan.1 '$(DESTDIR)$(mandir)/man1/dcgan.1'
	install -m 644 $(MODELS) '$(DESTDIR)$(datadir)/dcgan/models'
	install -m 644 $(BUILD)/dcgan.bash '$(DESTDIR)$(compdir)/dcgan'
	install -m 644 $(BUILD)/dcgan.zsh '$(DESTDIR)$(zshdir)/_dcgan'
	install -m 644 $(BUILD)/dcgan.fish '$(DESTDIR)$(fishdir)/dcgan.fish'
	install -m 644 include/dcgan.h '$(DESTDIR)$(incdir)/dcgan.h'
	install -m 644 $(BUILD)/libdcgan.a $(BUILD)/$(SONAME) '$(DESTDIR)$(libdir)'
	@for f in $(dir $(PROGRAM))dcgan-mpi-*.so; do \
	    [ ! -e "$$f" ] || { install -d '$(DESTDIR)$(libdir)/dcgan' && \
	        echo "install -m 644 $$f $(DESTDIR)$(libdir)/dcgan" && \
	        install -m 644 "$$f" '$(DESTDIR)$(libdir)/dcgan'; } || exit 1; \
	done
	ln -sf $(SONAME) '$(DESTDIR)$(libdir)/libdcgan.so'
	sed -e 's|@LIBDIR@|$(libdir)|' -e 's|@INCDIR@|$(incdir)|' $(BUILD)/dcgan.pc.in \
	    > '$(DESTDIR)$(libdir)/pkgconfig/dcgan.pc'
	@PATH="$$PATH:/sbin:/usr/sbin"; [ -n '$(DESTDIR)' ] || \
	    { ldconfig 2> /dev/null && ldconfig -p | grep -qF '$(libdir)/$(SONAME)'; } || \
	    echo "A program that uses the library needs LD_LIBRARY_PATH=$(libdir), or ldconfig run as root"

uninstall: ## remove what install put there
	rm -f '$(DESTDIR)$(bindir)/dcgan' '$(DESTDIR)$(mandir)/man1/dcgan.1' '$(DESTDIR)$(compdir)/dcgan' \
	    '$(DESTDIR)$(zshdir)/_dcgan' '$(DESTDIR)$(fishdir)/dcgan.fish' '$(DESTDIR)$(incdir)/dcgan.h' \
	    $(foreach f,libdcgan.a libdcgan.so $(SONAME) pkgconfig/dcgan.pc,'$(DESTDIR)$(libdir)/$(f)')
	rm -rf '$(DESTDIR)$(datadir)/dcgan' '$(DESTDIR)$(libdir)/dcgan'

SOURCES = $(shell find core kernels host include samples sim tests \
            -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp')
format: ## all sources as .clang-format says
	$(Q)clang-format-14 -i --style=file $(SOURCES)
lint: ## who includes and calls whom, clang-tidy, cppcheck, and what the analysers of gcc and clang find
	$(Q)sh scripts/lint

clean: ## remove what was built
	rm -rf build build-san dcgan dcgan-mpi-*.so
distclean: clean ## the same, with every build-* directory and config.mk
	rm -rf build-* config.mk

help: ## this list
	@echo 'Targets:'
	@grep -hE '^[a-z-]+:.*##' Makefile | sed 's/:.*## /\t/' | sort | sed 's/^/  /' | expand -t 16
	@echo 'Variables (on the command line or in config.mk):'
	@echo '  CC=clang      another compiler'
	@echo '  CFLAGS="..."  instead of $(CFLAGS)'
	@echo '  CCACHE=       without the compiler cache (ccache, used where it is there)'
	@echo '  V=1           show the commands'
	@echo '  WERROR=1      warnings are errors'
	@echo '  NVCC=...      the CUDA compiler (found by itself); empty: build without CUDA'
	@echo '  MPICC=...     compiler commands of MPI (found by itself); empty: build without MPI'
	@echo '  TIFF=         build without libtiff'
	@echo '  CUDA_ARCH=... auto (the GPUs here, or a short list), one (or one of it), native, or a list such as 75,80,90'
	@echo '  SAN=1         with AddressSanitizer and UndefinedBehaviorSanitizer, in build-san/; without CUDA'
	@echo '  BUILD=DIR     objects go there'
	@echo '  FUZZ_SOURCES=DIR  of make fuzz: sources of zlib, libpng and libjpeg-turbo, to be fuzzed as well'
	@echo '  PREFIX=DIR    for install; also bindir, libdir, incdir, mandir, datadir, DESTDIR'

include sim/sim.mk
include tests/coverage.mk
include tests/gpu.mk
include tests/ptx.mk
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
