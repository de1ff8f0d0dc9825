# The kernel simulator's part of the build, included by the Makefile. Every .cu of the kernels and of the tests is
# compiled as C++ in three flavours: plain, asan (with UBSan) and tsan. The simulator itself, sim/*.cpp, and the host's
# C code are never instrumented by them (under SAN=1 there is only asan).
#
# The folder of a test determines its link: tests/sim/test_X.cu tests the simulator, without kernels;
# tests/kernels/*/test_X.cu has all kernels. The tests of the CPU's ops also test the CUDA ops:
# tests/kernels/ops/test_X.c with tests/case_cuda.cu is cuda_X.
#
# `make check` runs the tests in one flavour and one mode, `make check-all` in all; `make sim-check` and `make sim-bugs`
# are the two halves; FLAVOURS= selects flavours and SIM_MODE= a mode (sim/sim.h). Without a C++20 compiler for x86-64
# they are skipped.

SIM          := $(BUILD)/sim
SIM_ALL      := $(if $(SAN),asan,plain asan tsan)
FLAVOURS     ?= $(SIM_ALL)
# The flavour of quick tests and of the program with the simulated GPU.
SIM_FIRST    := $(firstword $(SIM_ALL))
SIM_FLAVOURS := $(filter $(FLAVOURS),$(SIM_ALL))
# Line numbers for reports; SIM_DEBUG=-g for a debugger takes a third longer to compile.
SIM_DEBUG    ?= -g1
SIM_plain    := -O1
# ASan's checks as calls, not inline, if the compiler supports it: fused kernels compile in half the time and run a
# third longer.
ifneq ($(filter check% sim% %/dcgan $(BUILD)/%,$(MAKECMDGOALS)),)
ASAN_CALLS   := --param asan-instrumentation-with-call-threshold=0
SIM_CALLS    := $(shell echo | $(CXX) -Werror -fsanitize=address $(ASAN_CALLS) -x c++ -c -o /dev/null - 2>/dev/null && \
                echo '$(ASAN_CALLS)')
endif
SIM_asan     := -O1 -fno-omit-frame-pointer -fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined \
                $(SIM_CALLS)
SIM_tsan     := -O1 -fsanitize=thread
# With all checks of UBSan, fused kernels take twice as long to compile. These find what a GPU reports or ignores.
$(SIM)/asan/kernels/fused/%.o: SIM_asan += -fno-sanitize=undefined -fsanitize=alignment,bounds,shift
SIM_FLAGS     = -std=c++20 $(SIM_DEBUG) -Wall -Wextra -Wno-unknown-pragmas -Werror=switch $(if $(WERROR),-Werror) -I. \
                $(DEP_CFLAGS)

ifneq ($(filter check check-all sim-check,$(MAKECMDGOALS)),)
SIM_WHY_NOT := $(shell echo 'int main() { return sizeof __x86_64__; }' | \
                 $(CXX) -std=c++20 -x c++ -fsyntax-only - 2>/dev/null || echo $(CXX) compiles no C++20 for x86-64 here)
endif

SIM_OBJ     := $(patsubst %.cpp,$(SIM)/%.o,$(wildcard sim/*.cpp))
SIM_KERNELS := $(filter-out %cublas.cu,$(CU_SRC)) tests/case_cuda.cu
SIM_OWN     := $(patsubst tests/sim/%.cu,%,$(wildcard tests/sim/test_*.cu))
SIM_TESTS   := $(basename $(notdir $(CU_TESTS)))
SIM_SHARED  := $(patsubst tests/kernels/ops/test_%.c,cuda_%,$(wildcard tests/kernels/ops/test_*.c))
SIM_CHECKS  := $(SIM_OWN) $(SIM_SHARED) $(SIM_TESTS)
SIM_HOST    := $(filter-out %/reference_cpu.o,$(REFERENCE)) $(LIB)

$(SIM)/sim/%.o: sim/%.cpp $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  CXX   $<"
	$(Q)$(CCACHE) $(CXX) $(SIM_FLAGS) -O2 -MMD -MP -c -o $@ $<

# DCGAN_NCCL of tests; the program exports the runtime API that it calls.
$(SIM)/nccl.so: sim/nccl/twin.cpp $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  CXX   $<"
	$(Q)$(CCACHE) $(CXX) $(SIM_FLAGS) -O2 -MMD -MP -fPIC -c -o $(SIM)/nccl.o $<
	$(Q)$(CXX) -shared -o $@ $(SIM)/nccl.o

$(SIM)/tests/test_%.o: tests/kernels/ops/test_%.c $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CCACHE) $(CC) $(ALL_CFLAGS) -Itests -MMD -MP -c -o $@ $<

define sim_flavour
$(SIM)/$(1)/%.o: %.cu $(BUILD)/flags
	@mkdir -p $$(@D)
	@echo "  SIM   $$< ($(1))"
	$(Q)$(CCACHE) $$(CXX) $$(SIM_FLAGS) $$(SIM_$(1)) -MMD -MP -x c++ -c -o $$@ $$<

$(SIM_OWN:%=$(SIM)/$(1)/%) $(SIM)/$(1)/bugs: $(SIM)/$(1)/%: $(SIM)/$(1)/tests/sim/%.o $(SIM_OBJ) \
                $(BUILD)/core/base/rng.o
	@echo "  LINK  $$@"
	$(Q)$$(CXX) $$(SIM_$(1)) $$(ALL_LDFLAGS) -o $$@ $$^ -lm

$(SIM_TESTS:%=$(SIM)/$(1)/%): $(SIM)/$(1)/%: $(SIM)/$(1)/%.o $(SIM_KERNELS:%.cu=$(SIM)/$(1)/%.o) $(SIM_OBJ) $(SIM_HOST)
	@echo "  LINK  $$@"
	$(Q)$$(CXX) $$(SIM_$(1)) $$(ALL_LDFLAGS) -o $$@ $$^ $$(DEP_LIBS)

$(SIM_SHARED:%=$(SIM)/$(1)/%): $(SIM)/$(1)/cuda_%: $(SIM)/tests/test_%.o $(SIM_KERNELS:%.cu=$(SIM)/$(1)/%.o) \
                $(SIM_OBJ) $(SIM_HOST)
	@echo "  LINK  $$@"
	$(Q)$$(CXX) $$(SIM_$(1)) $$(ALL_LDFLAGS) -o $$@ $$^ $$(DEP_LIBS)

# The whole program with the simulated GPU for `--device cuda`.
$(SIM)/$(1)/dcgan: $(BUILD)/host/cli/main.o $(patsubst %.cu,$(SIM)/$(1)/%.o,$(filter kernels/%,$(SIM_KERNELS))) \
                $(SIM_OBJ) $(LIB) | $(SIM)/nccl.so
	@echo "  LINK  $$@"
	$(Q)$$(CXX) $$(SIM_$(1)) $$(ALL_LDFLAGS) -rdynamic -o $$@ $$^ $$(DEP_LIBS)
endef
$(foreach f,$(SIM_ALL),$(eval $(call sim_flavour,$(f))))

# A test as a program for scripts/run-tests: all modes of the flavours, or SIM_MODE.
$(SIM_CHECKS:%=$(SIM)/check/%): $(SIM)/check/%: $(SIM)/flavours
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec sh tests/sim/run $(SIM) "$(SIM_FLAVOURS)" $* "$(SIM_MODE)"\n' > $@ && chmod +x $@
$(SIM)/flavours: sim/sim.mk FORCE
	@mkdir -p $(@D)
	$(call update,'$(SIM_FLAVOURS) $(SIM_MODE)')
$(SIM_CHECKS:%=$(SIM)/quick/%): $(SIM)/quick/%: sim/sim.mk
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec sh tests/sim/run $(SIM) $(SIM_FIRST) $* "random lazy deferred"\n' > $@ && chmod +x $@
$(SIM)/check/planted-bugs: $(SIM)/flavours
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec sh tests/sim/find-bugs $(SIM) "$(SIM_FLAVOURS)"\n' > $@ && chmod +x $@
$(SIM)/check/skipped: sim/sim.mk
	@mkdir -p $(@D)
	@printf '#!/bin/sh\necho "SKIP: no kernel in the simulator: $(SIM_WHY_NOT)"\nexit 77\n' > $@ && chmod +x $@

SIM_RUN := $(SIM_CHECKS:%=$(SIM)/check/%)
SIM_STEPS := $(basename $(notdir $(wildcard tests/kernels/simulated/*.cu))) # tests/sim/run runs them without tsan
SIM_OF   = $(filter-out $(if $(filter tsan,$1),$(SIM_STEPS)),$(SIM_CHECKS))
SIM_BIN := $(foreach f,$(SIM_FLAVOURS),$(patsubst %,$(SIM)/$f/%,$(call SIM_OF,$f)))
SIM_BUG := $(SIM_FLAVOURS:%=$(SIM)/%/bugs)

.PHONY: sim sim-check sim-bugs
sim: $(patsubst %,$(SIM)/%/dcgan,$(filter-out tsan,$(SIM_FLAVOURS))) ## dcgan with a simulated GPU
sim-check: $(SIM_RUN) $(SIM_BIN) ## the kernels on the CPU, in the simulator
	$(Q)sh scripts/run-tests $(SIM_RUN)
sim-bugs: $(SIM_BUG) ## bugs planted in kernels, and which mode finds them
	$(Q)sh tests/sim/find-bugs $(SIM) '$(SIM_FLAVOURS)'

ifneq ($(SIM_WHY_NOT),)
SIM_PARTS := $(SIM)/check/skipped
SIM_QUICK := $(SIM_PARTS)
else
SIM_PARTS := $(if $(SIM_FLAVOURS),$(SIM_RUN) $(SIM)/check/planted-bugs)
SIM_QUICK := $(SIM_CHECKS:%=$(SIM)/quick/%)
ifeq ($(filter check,$(MAKECMDGOALS)),)
SIM_PROGRAM := $(SIM)/$(SIM_FIRST)/dcgan
endif
check-all: $(SIM_BIN) $(SIM_BUG) $(if $(SAN),,$(SIM_PROGRAM))
$(if $(ROOM),,check): $(SIM_CHECKS:%=$(SIM)/$(SIM_FIRST)/%)
endif
check-all: $(SIM_PARTS)
$(if $(ROOM),,check): $(SIM_QUICK)
