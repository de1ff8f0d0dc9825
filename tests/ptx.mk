# The program and the kernel tests with an executor of PTX in the place of the CUDA runtime, included by the Makefile:
# the code that nvcc made runs on the CPU. PTXRUN is the executor's folder, whose Makefile builds libptxrun.a. The
# objects must have PTX for sm_90 and sm_90a that is not compressed: KEEP_PTX=1. scripts/ptx-check builds and runs them.
PTX       := $(BUILD)/ptx
PTX_TESTS := $(SIM_SHARED) $(GPU_TESTS)
PTX_LIBS   = $(PTX)/libptxrun.a -lstdc++ -ldl -lrt -lpthread -lm
ifneq ($(PTXRUN),)
$(PTX)/libptxrun.a: $(wildcard $(PTXRUN)/*.cpp $(PTXRUN)/*.h)
	@mkdir -p $(@D)
	$(Q)+$(MAKE) -s -C $(PTXRUN) OUT=$(abspath $(PTX)) CUDA=$(patsubst %/bin/nvcc,%,$(NVCC))
$(PTX)/dcgan: $(BUILD)/host/cli/main.o $(LIB) $(CUDA_LIB) $(PTX)/libptxrun.a
	@echo "  LINK  $@"
	$(Q)$(CXX) $(ALL_LDFLAGS) -o $@ $< $(LIBS) $(DEP_LIBS) $(PTX_LIBS)
ptx_link = $(Q)$(CXX) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(LIBS) $(DEP_LIBS) $(PTX_LIBS)
$(GPU_TESTS:%=$(PTX)/%): $(PTX)/%: $(GPU)/%.cu.o $(GPU_HOST) $(LIB) $(CUDA_LIB) $(PTX)/libptxrun.a
	@echo "  LINK  $@"
	$(ptx_link)
$(SIM_SHARED:%=$(PTX)/%): $(PTX)/cuda_%: $(SIM)/tests/test_%.o $(GPU_HOST) $(LIB) $(CUDA_LIB) $(PTX)/libptxrun.a
	@echo "  LINK  $@"
	$(ptx_link)
.PHONY: ptx-tests
ptx-tests: $(PTX)/dcgan $(PTX_TESTS:%=$(PTX)/%)
endif
