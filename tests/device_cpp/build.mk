# Builds layer 0 and a test or benchmark binary. Called by build_and_run.sh with OUT, VARIANT, TOP.
CXX ?= g++
FLAGS := -std=c++20 -g -fopenmp -Wall -Wextra -Werror -fPIC \
         -I$(TOP)/torch_spyre/csrc -I$(TOP)/torch_spyre/include
FLAGS += $(if $(filter asan,$(VARIANT)),-O1 -fsanitize=address -fno-omit-frame-pointer)
FLAGS += $(if $(filter ubsan,$(VARIANT)),-O1 -fsanitize=undefined -fno-sanitize-recover=undefined)
FLAGS += $(if $(filter tsan,$(VARIANT)),-O1 -fsanitize=thread)
FLAGS += $(if $(filter plain bench,$(VARIANT)),-O2)

TESTS := $(TOP)/tests/device_cpp$(if $(filter bench,$(VARIANT)),/bench)
SOURCES := $(wildcard $(TOP)/torch_spyre/csrc/device/*.cpp) $(wildcard $(TESTS)/*.cpp)
OBJECTS := $(patsubst $(TOP)/%.cpp,$(OUT)/%.o,$(SOURCES))

$(OUT)/device_tests: $(OBJECTS)
	$(CXX) $(FLAGS) $^ -ldl -o $@

$(OUT)/%.o: $(TOP)/%.cpp
	@mkdir -p $(@D)
	$(CXX) $(FLAGS) -MMD -MP -c $< -o $@

-include $(OBJECTS:.o=.d)
