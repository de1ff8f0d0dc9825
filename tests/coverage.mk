# Lines and branches of core/ and host/ that the tests run, included by the Makefile: `make coverage` builds both
# without optimisation, so that gcc reports each branch, and everything else as usual, with kernels for one instruction
# set and the CUDA kernels in the simulator; scripts/coverage runs the tests.
ifneq ($(COVERAGE),)
$(BUILD)/core/%.o $(BUILD)/host/%.o: ALL_CFLAGS += -U_FORTIFY_SOURCE -O0 --coverage
ALL_LDFLAGS += --coverage $(BUILD)/tests/coverage_exit.o
$(PROGRAM) $(LIBRARY) $(TESTS) $(FUZZERS): $(BUILD)/tests/coverage_exit.o
endif

.PHONY: coverage
coverage: ## lines and branches that the tests run, by file; fails below tests/coverage.floor; needs gcc and gcov
	$(Q)$(MAKE) CC=gcc BUILD=build-coverage COVERAGE=1 NVCC= ISAS=base CFLAGS='-O2 -g' all tests \
	    build-coverage/sim/plain/dcgan
	$(Q)sh scripts/coverage build-coverage
