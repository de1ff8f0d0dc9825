# The kernel tests for a device, included by the Makefile: those of tests/kernels that the simulator runs, without
# tests/kernels/simulated, compiled by nvcc into $(BUILD)/gpu/. They need a GPU; scripts/gpu-check runs them.
GPU       := $(BUILD)/gpu
GPU_TESTS := $(basename $(notdir $(filter-out tests/kernels/simulated/%,$(CU_TESTS))))
GPU_CASES := $(if $(SIM_SHARED),$(BUILD)/tests/case_cuda.cu.o)
GPU_HOST   = $(GPU_CASES) $(filter-out %/reference_cpu.o,$(REFERENCE))
gpu_link   = $(Q)$(CXX) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(LIBS) $(DEP_LIBS) $(CUDA_LIBS)

$(GPU)/%.cu.o: %.cu $(BUILD)/cuda.flags
	$(nvcc_compile)
# gpu_programs FOLDER: the tests there, linked with their libraries of CUDA_LIBS.
define gpu_programs
$(GPU_TESTS:%=$(1)/%): $(1)/%: $(GPU)/%.cu.o
$(SIM_SHARED:%=$(1)/%): $(1)/cuda_%: $(SIM)/tests/test_%.o
$(patsubst %,$(1)/%,$(GPU_TESTS) $(SIM_SHARED)): $(GPU_HOST) $(LIB) $(CUDA_LIB)
	@mkdir -p $$(@D)
	@echo "  LINK  $$@"
	$$(gpu_link)
endef
$(eval $(call gpu_programs,$(GPU)))

.PHONY: gpu-tests
gpu-tests: $(if $(CUDA_PTX),$(patsubst %,$(GPU)/%,$(GPU_TESTS) $(SIM_SHARED)),no-gpu-tests) ## the kernel tests, by nvcc
no-gpu-tests:
	@echo 'gpu-tests: they are compiled by nvcc: $(CUDA_WHY)' >&2; exit 1

# tests/kernels/nvcc: checks of nvcc's output without a GPU; part of `make check` if there is nvcc.
ifneq ($(CUDA_PTX),)
GPU_PARTS := $(patsubst tests/kernels/nvcc/%.cu,$(GPU)/%,$(NVCC_TESTS))
else
GPU_PARTS := $(GPU)/skipped
endif
$(filter-out %/skipped,$(GPU_PARTS)): $(GPU)/%: $(GPU)/%.cu.o $(LIB) $(CUDA_LIB)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(gpu_link)
$(GPU)/skipped: $(BUILD)/cuda-found.mk
	@mkdir -p $(@D)
	@printf '#!/bin/sh\necho "SKIP: no launcher of a build by nvcc: $(CUDA_WHY)"\nexit 77\n' > $@ && chmod +x $@
check-all $(if $(ROOM),,check): $(GPU_PARTS)
