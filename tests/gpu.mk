# The kernel tests for a device, included by the Makefile: the simulator's sources, tests/sim/test_X.cu and
# tests/test_X.c with tests/sim/case_cuda.cu, compiled by nvcc into $(BUILD)/gpu/. They need a GPU to run;
# scripts/gpu-check runs them.
GPU       := $(BUILD)/gpu
GPU_NEVER := test_device $(patsubst tests/sim/%.cu,%,$(shell grep -l 'sim::' tests/sim/test_*.cu | \
               xargs grep -L -e CUSIM -e __CUDACC__)) # about the simulated GPU itself
GPU_TESTS := $(filter-out test_sim_% $(GPU_NEVER),$(SIM_OWN) $(SIM_TESTS))
GPU_CASES := $(if $(SIM_SHARED),$(BUILD)/tests/sim/case_cuda.cu.o)
GPU_HOST   = $(GPU_CASES) $(filter-out %/reference_cpu.o,$(REFERENCE))
gpu_link   = $(Q)$(CXX) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(LIBS) $(DEP_LIBS) $(CUDA_LIBS)

$(GPU_TESTS:%=$(GPU)/%): $(GPU)/%: $(BUILD)/tests/sim/%.cu.o $(GPU_HOST) $(LIB) $(CUDA_LIB)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(gpu_link)
$(SIM_SHARED:%=$(GPU)/%): $(GPU)/cuda_%: $(SIM)/tests/test_%.o $(GPU_HOST) $(LIB) $(CUDA_LIB)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(gpu_link)

.PHONY: gpu-tests
gpu-tests: $(if $(CUDA_PTX),$(patsubst %,$(GPU)/%,$(GPU_TESTS) $(SIM_SHARED)),no-gpu-tests) ## the kernel tests, by nvcc
no-gpu-tests:
	@echo 'gpu-tests: they are compiled by nvcc: $(CUDA_WHY)' >&2; exit 1

# What nvcc made, without a GPU: a part of `make check` where there is nvcc.
ifneq ($(CUDA_PTX),)
GPU_PARTS := $(GPU)/test_launchers
else
GPU_PARTS := $(GPU)/skipped
endif
$(GPU)/test_launchers: $(BUILD)/tests/test_launchers.cu.o $(LIB) $(CUDA_LIB)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(gpu_link)
$(GPU)/skipped: $(BUILD)/cuda-found.mk
	@mkdir -p $(@D)
	@printf '#!/bin/sh\necho "SKIP: no launcher of a build by nvcc: $(CUDA_WHY)"\nexit 77\n' > $@ && chmod +x $@
check: $(GPU_PARTS)
