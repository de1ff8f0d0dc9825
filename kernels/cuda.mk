# The CUDA part of the build, included by the Makefile after what scripts/detect found.
#
#   NVCC=...       the compiler; NVCC= (empty) builds without CUDA. Found on the PATH or below /usr/local.
#   CUDA_ARCH=...  auto: the GPUs of this machine, or a short list when there is none; native: the GPUs of this machine,
#                  an error when there is none; or a list such as 75,80,90. Newer GPUs get the last one's PTX.
#
# Without nvcc, kernels/no_cuda.c says so in the place of the backend. The CUDA runtime is linked statically and
# cuBLAS is loaded when it is wanted: the program starts on machines without a driver.
NVCC      ?= $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc /usr/local/cuda-*/bin/nvcc /opt/cuda/bin/nvcc))
CUDA_ARCH ?= auto
CUDA_ALL  := 75 80 86 89 90 100 120
CU_SRC    := $(sort $(wildcard kernels/*.cu))

# Sanitized builds and NO_BUILD targets go without: device code is judged in the simulator.
ifneq ($(SAN),)
override NVCC :=
endif

ifeq ($(NVCC),)
CU_OBJ  :=
else
NO_CUDA := kernels/no_cuda.c
CU_OBJ  := $(CU_SRC:%.cu=$(BUILD)/%.cu.o)

CUDA_HERE := $(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d '. ' | sort -un)
ifeq ($(CUDA_ARCH),native)
CUDA_LIST := $(or $(CUDA_HERE),$(error CUDA_ARCH=native: nvidia-smi shows no GPU here; name one, such as CUDA_ARCH=90))
else ifeq ($(CUDA_ARCH),auto)
CUDA_LIST := $(or $(filter $(CUDA_ALL),$(CUDA_HERE)),80 90)
else
CUDA_LIST := $(subst $(comma), ,$(CUDA_ARCH))
endif
CUDA_LIST := $(shell printf '%s\n' $(CUDA_LIST) | sort -un)
CUDA_PTX  := $(lastword $(CUDA_LIST))

CUDA_GENCODE = $(foreach a,$(CUDA_LIST),-gencode arch=compute_$(a),code=sm_$(a)) -gencode arch=compute_$(CUDA_PTX),code=compute_$(CUDA_PTX)
CUDA_DEFS    = '-DDG_CUDA_SASS="$(CUDA_LIST)"' -DDG_CUDA_PTX=$(CUDA_PTX)
NVCC_FLAGS   = -std=c++17 -O3 -Iinclude -I. -Xcompiler -Wall,-Wextra,-fPIE,-fno-exceptions $(NVFLAGS)
CUDA_LIBDIR := $(firstword $(wildcard $(patsubst %,$(dir $(NVCC))../%,lib64 lib targets/x86_64-linux/lib)))
DEP_LIBS    += -L$(CUDA_LIBDIR) -lcudart_static -ldl -lrt -lpthread

CUDA_VERSION := $(shell $(NVCC) --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p')
FOUND := $(subst CUDA no,CUDA $(CUDA_VERSION) for $(CUDA_LIST:%=sm_%),$(FOUND))

$(BUILD)/cuda.flags: FORCE
	$(call update,$(call quoted,$(NVCC) $(NVCC_FLAGS) $(CUDA_GENCODE)))
$(BUILD)/%.cu.o: %.cu $(BUILD)/cuda.flags
	@mkdir -p $(@D)
	@echo "  NVCC  $<"
	$(Q)$(NVCC) $(NVCC_FLAGS) $(CUDA_GENCODE) $(if $(filter %device.cu,$<),$(CUDA_DEFS)) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<
endif
