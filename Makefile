# dcgan. `make help` lists the targets; nothing here needs editing: pass variables on the command line
# (make CC=clang, make SAN=1, make V=1) or put them into config.mk.
-include config.mk

CC      ?= cc
CFLAGS  ?= -O2 -g
PREFIX  ?= /usr/local
BUILD   ?= build$(if $(SAN),-san)
Q       := $(if $(V),,@)

WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wconversion $(if $(WERROR),-Werror)
, := ,
SANFLAGS := $(if $(SAN),-fsanitize=address$(,)undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
DEPS    := libpng libjpeg cjson
DEPFLAGS := $(shell pkg-config --cflags libpng libjpeg inih libcjson 2>/dev/null)
LIBS    := -lpng -ljpeg -lz -linih -lcjson -lgif -lm
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE $(WARN) -Iinclude -I. $(DEPFLAGS) -fopenmp $(SANFLAGS) $(CFLAGS)
ALL_LDFLAGS = -fopenmp -pthread $(SANFLAGS) $(LDFLAGS)

# Kernels are compiled once for each instruction set and each type of real (kernels/cpu.h).
MACHINE := $(shell $(CC) -dumpmachine)
ISAS    := base $(if $(filter x86_64%,$(MACHINE)),avx2 avx512)
ISA_base   :=
ISA_avx2   := -march=x86-64-v3
ISA_avx512 := -march=x86-64-v4 -mprefer-vector-width=512
KFLAGS  := -O3 -ffp-contract=fast -fno-math-errno -fno-trapping-math
MULTI_SRC := $(wildcard $(patsubst %,kernels/%.c,conv conv_direct conv_dw conv_dw_thin conv_winograd norm_act act bce adam gather noise cpu_table))
MULTI   := $(MULTI_SRC:kernels/%.c=%)

HOST_SRC := $(filter-out host/main.c,$(wildcard host/*.c)) $(filter-out $(MULTI_SRC),$(wildcard kernels/*.c))
HOST_OBJ := $(HOST_SRC:%.c=$(BUILD)/%.o) $(BUILD)/models.o
KERN_OBJ := $(foreach i,$(ISAS),$(foreach f,32 64,$(MULTI:%=$(BUILD)/kernels/%.$(i).f$(f).o)))
LIB      := $(BUILD)/libdcgan.a
TESTS    := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/test_*.c))
REFERENCE := $(patsubst tests/%.c,$(BUILD)/tests/%.o,$(wildcard tests/reference*.c))
MODELS   := $(sort $(wildcard models/*.cfg))

.PHONY: all check clean help
all: dcgan ## the program

dcgan: $(BUILD)/host/main.o $(LIB)
	@echo "  LINK  $@"
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

$(LIB): $(HOST_OBJ) $(KERN_OBJ)
	@echo "  AR    $@"
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

define kernel_rule
$(BUILD)/kernels/%.$(1).f$(2).o: kernels/%.c
	@mkdir -p $$(@D)
	@echo "  CC    $$< ($(1), fp$(2))"
	$(Q)$$(CC) $$(ALL_CFLAGS) $$(KFLAGS) $$(ISA_$(1)) -DDG_ISA=$(1) -DDG_FP=$(2) -MMD -MP -c -o $$@ $$<
endef
$(foreach i,$(ISAS),$(foreach f,32 64,$(eval $(call kernel_rule,$(i),$(f)))))

# The models as text inside the program, so that --model dcgan64 works wherever it is installed.
$(BUILD)/models.c: $(MODELS) scripts/embed-models
	@mkdir -p $(@D)
	$(Q)sh scripts/embed-models $(MODELS) > $@.tmp && mv $@.tmp $@
$(BUILD)/models.o: $(BUILD)/models.c
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(BUILD)/tests/%: tests/%.c $(REFERENCE) $(LIB)
	@mkdir -p $(@D)
	@echo "  TEST  $@"
	$(Q)$(CC) $(ALL_CFLAGS) -Itests -MMD -MP $(ALL_LDFLAGS) -o $@ $< $(REFERENCE) $(LIB) $(LIBS)

tests: $(TESTS)
.PHONY: tests
check: dcgan $(TESTS) ## build and run every test
	$(Q)sh scripts/run-tests $(TESTS)

clean: ## remove what was built
	rm -rf build build-san dcgan

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | sort

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
