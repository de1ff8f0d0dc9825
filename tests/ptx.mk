# The program and the kernel tests with an executor of PTX instead of the CUDA runtime, included by the Makefile: nvcc's
# code runs on the CPU. PTXRUN is the executor's folder, whose Makefile builds libptxrun.a. The objects must have
# uncompressed PTX for sm_90 and sm_90a: KEEP_PTX=1. scripts/ptx-check builds and runs them.
PTX       := $(BUILD)/ptx
PTX_TESTS := $(SIM_SHARED) $(GPU_TESTS)
PTX_LIBS   = $(PTX)/libptxrun.a -lstdc++ -ldl -lrt -lpthread -lm
ifneq ($(PTXRUN),)
# The executor, with three of its files rebuilt for clusters of blocks (tests/ptx/clusters.h).
PTX_NEW   := exec parse cudart
PTX_FLAGS  = -std=c++17 -O3 -march=native -ffp-contract=off -fno-math-errno -I$(PTXRUN) \
             -I$(patsubst %/bin/nvcc,%,$(NVCC))/include
$(PTX)/libptxrun.a: $(wildcard $(PTXRUN)/*.cpp $(PTXRUN)/*.h) $(wildcard tests/ptx/*)
	@mkdir -p $(@D)
	$(Q)+$(MAKE) -s -C $(PTXRUN) OUT=$(abspath $(PTX)) CUDA=$(patsubst %/bin/nvcc,%,$(NVCC))
	$(Q)for f in $(PTX_NEW); do $(CXX) $(PTX_FLAGS) -c -o $(PTX)/$$f.o tests/ptx/$$f.cpp || exit 1; done
	$(Q)ar r $@ $(PTX_NEW:%=$(PTX)/%.o)
$(eval $(call gpu_programs,$(PTX)))
$(PTX)/dcgan: $(BUILD)/host/cli/main.o $(LIB) $(CUDA_LIB)
	@echo "  LINK  $@"
	$(gpu_link)
PTX_PROGRAMS := $(patsubst %,$(PTX)/%,dcgan $(PTX_TESTS))
$(PTX_PROGRAMS): $(PTX)/libptxrun.a
$(PTX_PROGRAMS) ptx-commands: private CUDA_LIBS = $(PTX_LIBS)
.PHONY: ptx-tests ptx-commands
ptx-tests: $(PTX_PROGRAMS)
# For tests/ptx_faults.sh: compile and link commands, here and in the simulator.
ptx-commands:
	@echo "nvcc='$(NVCC) $(NVCC_FLAGS)' ptx_link='$(CXX) $(ALL_LDFLAGS)'"
	@echo "ptx_rest='$(GPU_HOST) $(LIBS) $(DEP_LIBS) $(CUDA_LIBS)'"
	@echo "sim='$(CXX) $(SIM_FLAGS) $(SIM_plain) -x c++' sim_link='$(CXX) $(SIM_plain) $(ALL_LDFLAGS)'"
	@echo "sim_rest='$(SIM_KERNELS:%.cu=$(SIM)/plain/%.o) $(SIM_OBJ) $(SIM_HOST) $(DEP_LIBS)'"
endif
