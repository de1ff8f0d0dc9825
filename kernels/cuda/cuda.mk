# The CUDA part of the build, included by the Makefile after what scripts/build/detect found.
#
#   NVCC=...       the compiler; NVCC= (empty) builds without CUDA. Found on the PATH or below /usr/local.
#   CUDA_ARCH=...  auto: the GPUs of this machine, or a short list when there is none; one: the same, but one of
#                  that list; native: the GPUs of this machine, an error when there is none; or a list such as
#                  75,80,90. Newer GPUs get the last one's PTX.
#   NVFLAGS=...    options for nvcc, such as -ccbin g++-11
#
# scripts/build/detect-cuda turns them into NVCC, CUDA_LIST, CUDA_PTX, CUDA_LIBS and CUDA_WORD, or says in CUDA_WHY why
# there is nothing to build with; then kernels/cuda/no_cuda.c says so instead of the backend. The CUDA runtime is linked
# statically and cuBLAS is loaded when it is required: the program starts on machines without a driver.
#
# The backend is a separate archive, which the simulator replaces.
CUDA_ARCH  ?= auto
NVCC_ASKED := $(if $(filter undefined,$(origin NVCC)),find,$(NVCC))
CUDA_LIB   := $(BUILD)/cuda.a
CU_SRC     := $(sort $(call below,kernels,.cu))
# A folder named after an architecture has kernels that other architectures could only refuse: sm75 tensor cores before
# sm_80, sm80 from sm_80 on, sm90a Hopper only, sm80not90 kernels that Hopper's replace.
folder      = $(filter sm75 sm80 sm80not90 sm90a,$(subst /, ,$(1)))
in_folder   = $(foreach f,$(2),$(if $(filter $(1),$(call folder,$(f))),$(f)))
anywhere    = $(foreach f,$(1),$(if $(call folder,$(f)),,$(f)))
NO_CUDA    := kernels/cuda/no_cuda.c

# Device code is checked in the simulator, which has its own sanitized builds.
ifneq ($(SAN),)
override NVCC :=
override NVCC_ASKED :=
CUDA_WHY_NOT := built with SAN=1
endif

include $(BUILD)/cuda-found.mk
FOUND := $(FOUND); $(CUDA_WORD)

CUDA_ASKED := $(NVCC_ASKED) | $(CUDA_ARCH) | $(NVFLAGS) | $(CC) | $(CUDA_WHY_NOT) | $(wildcard /dev/nvidia[0-9]*)
$(BUILD)/cuda-asked: FORCE
	$(call update,$(call quoted,$(CUDA_ASKED)))
$(BUILD)/cuda-found.mk: scripts/build/detect-cuda $(BUILD)/cuda-asked
	$(Q)NVCC='$(NVCC_ASKED)' CUDA_ARCH='$(CUDA_ARCH)' NVFLAGS='$(NVFLAGS)' CC='$(CC)' WHY_NOT='$(CUDA_WHY_NOT)' \
	    sh scripts/build/detect-cuda > $@.tmp
	@mv $@.tmp $@

ifneq ($(CUDA_PTX),)
CUDA_OBJ     := $(CU_SRC:%.cu=$(BUILD)/%.cu.o)
sass          = $(foreach a,$(1),-gencode arch=compute_$(a),code=sm_$(a))
ptx_code      = -gencode arch=compute_$(1),code=compute_$(1)
gencode       = $(call sass,$(1)) $(call ptx_code,$(CUDA_PTX))
CUDA_GENCODE := $(call gencode,$(CUDA_LIST))
WGMMA_HERE   := $(and $(CUDA_WIDE),$(filter 90,$(CUDA_LIST)))
GENCODE_sm75  := $(if $(filter 75,$(CUDA_LIST)),$(call sass,75) $(if $(KEEP_PTX),$(call ptx_code,75)))
GENCODE_sm80  := $(if $(filter-out 75,$(CUDA_PTX)),$(call gencode,$(filter-out 75,$(CUDA_LIST))))
# Where sm_90 is compiled for, its PTX of sm80not90 is only for newer GPUs. A build for tests (KEEP_PTX=1) does without:
# it gets the PTX of the oldest architecture, in which these kernels are empty.
GENCODE_sm80not90 := $(if $(WGMMA_HERE),$(call sass,$(filter-out 75 90,$(CUDA_LIST))) \
                     $(call ptx_code,$(if $(KEEP_PTX),$(firstword $(CUDA_OFFERS)),$(CUDA_PTX))),$(GENCODE_sm80))
GENCODE_sm90a := $(if $(WGMMA_HERE),$(call sass,$(CUDA_WIDE)) \
                     $(if $(KEEP_PTX),$(call ptx_code,$(CUDA_WIDE))))
GENCODE_test  := $(if $(WGMMA_HERE),$(call sass,$(patsubst 90,$(CUDA_WIDE),$(CUDA_LIST))) \
                     $(call ptx_code,$(if $(KEEP_PTX),$(CUDA_WIDE),$(CUDA_PTX))))
else
CUDA_OBJ     := $(NO_CUDA:%.c=$(BUILD)/%.o)
endif
NVCC_BASE    := -std=c++17 -O3 -I. $(if $(KEEP_PTX),--no-compress) $(NVFLAGS)
NVCC_FLAGS    = $(NVCC_BASE) -Xcompiler -Wall,-Wextra,-fPIC,-fvisibility=hidden \
                -Xcompiler -fno-exceptions,-fno-threadsafe-statics \
                $(if $(WERROR),-Werror all-warnings -Xcompiler -Werror)
$(BUILD)/kernels/cuda/cuda_device.cu.o: CUDA_DEFS = '-DDG_CUDA_SASS="$(CUDA_LIST)"' -DDG_CUDA_PTX=$(CUDA_PTX) \
                -DDG_CUDA_WGMMA=$(if $(WGMMA_HERE),1,0)
$(BUILD)/kernels/cuda/no_cuda.o: ALL_CFLAGS += '-DDG_NO_CUDA="$(CUDA_WHY)"'

$(CUDA_LIB): $(CUDA_OBJ)
	@echo "  AR    $@"
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(BUILD)/cuda.flags: FORCE
	$(call update,$(call quoted,$(NVCC) $(NVCC_FLAGS) $(CUDA_GENCODE)))
$(BUILD)/kernels/cuda/no_cuda.o: $(BUILD)/cuda-found.mk
# If no architecture matches a folder, its kernels are compiled for all, to refuse: launchers always exist. Tests whose
# names end in wgmma are compiled for sm_90a instead of sm_90.
gencode_of = $(or $(GENCODE_$(or $(call folder,$(1)),$(if $(filter %wgmma.cu,$(1)),test))),$(CUDA_GENCODE))
define nvcc_compile
@mkdir -p $(@D)
@echo "  NVCC  $<"
$(Q)$(CCACHE) $(NVCC) $(NVCC_FLAGS) $(call gencode_of,$<) $(CUDA_DEFS) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<
endef
ifneq ($(and $(KEEP_PTX),$(filter $(CUDA_PTX),$(CUDA_LIST)),$(filter 1,$(words $(CUDA_LIST)))),)
# KEEP_PTX=1, in a build for one architecture: keeps its PTX and ptxas's output where scripts/cuda-archs looks, so that
# nothing is compiled twice; the PTX in the objects is uncompressed, for tests/ptx.mk.
kept = $(BUILD)/archs/$(or $(KEPT_$(call folder,$<)),$(CUDA_PTX))/$*
KEPT_sm90a     := $(CUDA_WIDE)
KEPT_sm80not90 := $(if $(WGMMA_HERE),$(firstword $(CUDA_OFFERS)))
$(BUILD)/kernels/%.cu.o: kernels/%.cu $(BUILD)/cuda.flags $(BUILD)/archs.flags
	@mkdir -p $(@D) $(dir $(kept)) && rm -rf $(kept).keep && mkdir $(kept).keep
	@echo "  NVCC  $<"
	$(Q)$(NVCC) $(NVCC_FLAGS) $(call gencode_of,$<) $(CUDA_DEFS) -Xptxas -v --keep --keep-dir $(kept).keep \
	    -MMD -MP -MF $(@:.o=.d) -c -o $@ $< > $(kept).keep/log 2>&1 || { cat $(kept).keep/log; exit 1; }
	$(Q)sed 's|^[^ ]*\.o *:|$(kept).ptx:|' $(@:.o=.d) > $(kept).d && : > $(kept).said
	$(Q)mv $(kept).keep/*.ptx $(kept).ptx && touch $(kept).ptx && cat $(kept).keep/log > $(kept).log
	$(Q)rm -r $(kept).keep
endif
$(BUILD)/%.cu.o: %.cu $(BUILD)/cuda.flags
	$(nvcc_compile)

# Every file for each of its architectures, for scripts/cuda-archs: $(BUILD)/archs/90/ops/conv/cuda/conv.ptx is the PTX
# of kernels/ops/conv/cuda/conv.cu for sm_90, conv.said the messages of its compilation, conv.log ptxas's output, which
# is missing if it fails. The sources know three generations (checked by scripts/cuda-archs): PTX is made once per
# generation, and ptxas translates it for the others; except sm_120, which spills registers from sm_90's PTX.
ARCHS ?= 75 80 86 89 90 100 120
override ARCHS := $(filter $(CUDA_OFFERS),$(ARCHS)) $(CUDA_WIDE)
$(BUILD)/archs.flags: FORCE
	$(call update,$(call quoted,$(NVCC) $(NVCC_BASE)))
generation = $(if $(filter 80 86 89,$(1)),80,$(if $(filter 90 100,$(1)),90,$(1)))
translated = $(foreach a,$(ARCHS),$(if $(filter $(1),$(call generation,$(a))),$(a)))
define arch_rules
$(BUILD)/archs/$(1)/%.ptx: kernels/%.cu $(BUILD)/archs.flags
	@mkdir -p $$(@D) && rm -f $(foreach t,$(call translated,$(1)),$(BUILD)/archs/$(t)/$$*.log)
	$$(Q)$$(NVCC) $$(NVCC_BASE) -arch=compute_$(1) -ptx -MMD -MP -MF $$(@:.ptx=.d) -o $$@ $$< > $$(@:.ptx=.said) 2>&1
$(BUILD)/archs/$(1)/%.log: $(BUILD)/archs/$(call generation,$(1))/%.ptx
	@mkdir -p $$(@D)
	$$(Q)$$(NVCC) -arch=sm_$(1) -cubin -Xptxas -v -o $$(@:.log=.cubin) $$< > $$@ 2>&1
endef
$(foreach a,$(ARCHS),$(eval $(call arch_rules,$(a))))
.PHONY: archs
of_arch = $(if $(filter 90a,$(1)),$(call in_folder,sm90a,$(CU_SRC)),$(call anywhere,$(CU_SRC)) \
              $(call in_folder,$(if $(filter 75,$(1)),sm75,sm80 $(if $(filter 90,$(1)),,sm80not90)),$(CU_SRC)))
archs: $(foreach a,$(ARCHS),$(patsubst kernels/%.cu,$(BUILD)/archs/$(a)/%.log,$(call of_arch,$(a))))
