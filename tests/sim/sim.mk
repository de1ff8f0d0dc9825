# The kernel simulator's part of the build, included by the Makefile. Every kernels/*.cu and tests/sim/*.cu is compiled
# as C++ in three flavours: plain, asan (with UBSan) and tsan. The simulator itself, tests/sim/*.cpp, and the host's C
# code are never instrumented by them (under SAN=1 there is only asan).
#
# A test tests/sim/test_X.cu is linked with all kernels; those of the simulator itself (SIM_OWN) are not.

SIM          := $(BUILD)/sim
SIM_FLAVOURS := $(if $(SAN),asan,plain asan tsan)
SIM_plain    := -O2
SIM_asan     := -O1 -fno-omit-frame-pointer -fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined
SIM_tsan     := -O1 -fsanitize=thread
SIM_FLAGS     = -std=c++20 -g -Wall -Wextra -Wno-unknown-pragmas $(if $(WERROR),-Werror) -Iinclude -I. $(DEP_CFLAGS)

SIM_OBJ     := $(patsubst %.cpp,$(SIM)/%.o,$(wildcard tests/sim/*.cpp))
SIM_KERNELS := $(filter-out %cublas.cu,$(wildcard kernels/*.cu))
SIM_OWN     := $(filter test_sim_% test_wrappers,$(patsubst tests/sim/%.cu,%,$(wildcard tests/sim/test_*.cu)))
SIM_TESTS   := $(filter-out $(SIM_OWN),$(patsubst tests/sim/%.cu,%,$(wildcard tests/sim/test_*.cu)))

$(SIM)/tests/sim/%.o: tests/sim/%.cpp $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  CXX   $<"
	$(Q)$(CXX) $(SIM_FLAGS) -O2 -MMD -MP -c -o $@ $<

define sim_flavour
$(SIM)/$(1)/%.o: %.cu $(BUILD)/flags
	@mkdir -p $$(@D)
	@echo "  SIM   $$< ($(1))"
	$(Q)$$(CXX) $$(SIM_FLAGS) $$(SIM_$(1)) -MMD -MP -x c++ -c -o $$@ $$<

$(SIM_OWN:%=$(SIM)/$(1)/%) $(SIM)/$(1)/bugs: $(SIM)/$(1)/%: $(SIM)/$(1)/tests/sim/%.o $(SIM_OBJ) $(BUILD)/host/rng.o
	@echo "  LINK  $$@"
	$(Q)$$(CXX) $$(SIM_$(1)) $$(ALL_LDFLAGS) -o $$@ $$^ -lm

$(SIM_TESTS:%=$(SIM)/$(1)/%): $(SIM)/$(1)/%: $(SIM)/$(1)/tests/sim/%.o $(SIM_KERNELS:%.cu=$(SIM)/$(1)/%.o) $(SIM_OBJ) $(REFERENCE) $(LIB)
	@echo "  LINK  $$@"
	$(Q)$$(CXX) $$(SIM_$(1)) $$(ALL_LDFLAGS) -o $$@ $$^ $$(DEP_LIBS)

# The whole program with the simulated GPU for `--device cuda`.
$(SIM)/$(1)/dcgan: $(BUILD)/host/main.o $(SIM_KERNELS:%.cu=$(SIM)/$(1)/%.o) $(SIM_OBJ) $(LIB)
	@echo "  LINK  $$@"
	$(Q)$$(CXX) $$(SIM_$(1)) $$(ALL_LDFLAGS) -o $$@ $$^ $$(DEP_LIBS)
endef
$(foreach f,$(SIM_FLAVOURS),$(eval $(call sim_flavour,$(f))))

.PHONY: sim sim-check sim-bugs
sim: $(patsubst %,$(SIM)/%/dcgan,$(filter-out tsan,$(SIM_FLAVOURS))) ## dcgan with a simulated GPU: build/sim/plain/dcgan
sim-check: $(foreach f,$(SIM_FLAVOURS),$(patsubst %,$(SIM)/$(f)/%,$(SIM_OWN) $(SIM_TESTS))) ## the kernels on the CPU, in the simulator
	$(Q)sh tests/sim/run $(SIM) '$(SIM_FLAVOURS)' $(SIM_OWN) $(SIM_TESTS)
sim-bugs: $(SIM_FLAVOURS:%=$(SIM)/%/bugs) ## bugs planted in kernels, and which mode finds them
	$(Q)sh tests/sim/find-bugs $(SIM) '$(SIM_FLAVOURS)'
