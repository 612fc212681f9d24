# The front of the project: every usual task is one word. CMakeLists.txt and CMakePresets.json do the work.
# Each target first installs the Debian packages it lacks; with all there, that takes no time and needs no rights.

FUZZ_SECONDS ?= 600
# Most tests wait, for processes and for time limits: three at once on every core.
TEST_JOBS ?= $(shell expr 3 \* $$(nproc))
# For test-simd; by default all that this machine has, but for the best, which 'make test' runs.
SIMD_VARIANTS ?=
TORTURE_CASES ?= 2000
TORTURE_HARD ?= 5000
TORTURE_SEED ?= 1
PREFIX ?= /usr/local
# E.g. BENCH_ARGS='dense online --json bench.json'; see build/fedsinkhorn-bench --help.
BENCH_ARGS ?=

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-simd test-browser test-gpu build-gpu torture torture-quick torture-build chaos chaos-quick \
        bench bench-gpu bench-python reproduce reproduction-page python python-stress python-asan python-build wheel \
        portable asan asan-all tsan tsan-comm clang fuzz format format-check lint install clean coverage flaky check nightly build with-tests with-gpu

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: build/build.ninja ## Build, solve a small problem on four clients, draw it (demo-output/report.html, transport.svg)
	cmake --build --preset release --target fedsinkhorn-cli
	build/fedsinkhorn demo --output demo-output

test: build ## Build and run the tests (scripts/slowest.py build/tests.xml lists those that took longest)
	ctest --preset release -j $(TEST_JOBS) --output-junit $(CURDIR)/build/tests.xml

test-simd: build ## Run the tests that do arithmetic under every other instruction set (SIMD_VARIANTS="avx2 baseline")
	TEST_JOBS=$(TEST_JOBS) scripts/test-simd.sh build $(SIMD_VARIANTS)

test-browser: with-tests packages-browser ## Look at reports with Chromium; screenshots in build/browser/screenshots
	npm ci --prefix tests/browser --ignore-scripts --no-audit --no-fund --loglevel=error
	cmake --build --preset release --target fedsinkhorn-cli
	BROWSER_TESTS=required ctest --preset release -R '^browser\.' -V

test-gpu: with-gpu ## Build and run the tests that need a GPU; without one each is skipped and says why
	cmake --build --preset release --target gpu-tests
	ctest --preset release -L gpu -V

build-gpu: with-gpu ## Compile all that runs on GPUs, where nvcc is found
	cmake --build --preset release --target fedsinkhorn-cli gpu-tests gpu-benches

# Debian's Python, for which the packages are; from then on build/ has the package.
PYTHON ?= /usr/bin/python3
PYTHON_TESTS ?= python/tests
python: python-build ## Build the Python package (PYTHONPATH=build/python finds it) and run its tests
	PYTHONPATH=build/python $(PYTHON) -m pytest -q -p no:cacheprovider $(PYTHON_TESTS)

python-stress: python-build ## 10,000 random calls, and 1,000 rounds of threads and callbacks
	FEDSINKHORN_FUZZ_CALLS=10000 FEDSINKHORN_STRESS_ROUNDS=1000 PYTHONPATH=build/python $(PYTHON) -X faulthandler \
	  -m pytest -q -p no:cacheprovider python/tests/test_fuzz.py python/tests/test_stopping.py

python-build: build/build.ninja packages-python
	cmake --preset release -DFEDSINKHORN_PYTHON=ON -DPython_EXECUTABLE=$(PYTHON) > /dev/null
	cmake --build --preset release --target fedsinkhorn-python-package

# In a folder of its own, without MPI. Python itself is not instrumented, so the sanitizers, which GCC has as shared
# libraries, come first into the process. What Python never frees looks like leaks, which are not looked for.
python-asan: packages-program packages-python ## The Python tests under AddressSanitizer and UndefinedBehaviorSanitizer
	cmake --fresh --preset asan -B build-asan-python -DCMAKE_CXX_COMPILER=g++ -DFEDSINKHORN_PYTHON=ON \
	  -DPython_EXECUTABLE=$(PYTHON) -DFEDSINKHORN_MPI=OFF -DFEDSINKHORN_TESTS=OFF > /dev/null
	cmake --build build-asan-python --target fedsinkhorn-python-package
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
	  PYTHONPATH=build-asan-python/python FEDSINKHORN_FUZZ_CALLS=300 $(PYTHON) -m pytest -q -p no:cacheprovider \
	  python/tests --ignore python/tests/test_mpi.py --ignore python/tests/test_docs.py

PYTHON_BENCH_ARGS ?=
bench-python: python-build ## Time calls from Python beside calls from C++ and POT (PYTHON_BENCH_ARGS=...)
	cmake --build --preset release --target fedsinkhorn-calls
	PYTHONPATH=build/python $(PYTHON) bench/python/bench.py build/fedsinkhorn-calls $(PYTHON_BENCH_ARGS)

# Without MPI: a program has one MPI, that of its mpi4py, and it cannot be carried along. Without live pages, which need
# too many libraries.
WHEEL_ARGS = -DFEDSINKHORN_PYTHON_CARRIES=ON -DFEDSINKHORN_MPI=OFF -DFEDSINKHORN_WATCH=OFF
wheel: packages-program packages-python ## A wheel that carries its libraries, in dist/
	FEDSINKHORN_CMAKE_ARGS="$(WHEEL_ARGS)" FEDSINKHORN_BUILD_FOLDER=build-wheel \
	  $(PYTHON) -m pip wheel . --no-build-isolation --no-deps --no-index --wheel-dir dist

torture: torture-build ## Solve TORTURE_CASES=2000 random problems and hold them against a slow reference; 5,000 hard ones
	build/fedsinkhorn-torture --cases $(TORTURE_CASES) --seed $(TORTURE_SEED) --program build/fedsinkhorn
	build/fedsinkhorn-torture --family hard --cases $(TORTURE_HARD) --seed $(TORTURE_SEED) --program build/fedsinkhorn

torture-quick: torture-build ## The same with 150 problems of each kind
	build/fedsinkhorn-torture --cases 150 --seed $(TORTURE_SEED) --program build/fedsinkhorn
	build/fedsinkhorn-torture --family hard --cases 150 --seed $(TORTURE_SEED)

CHAOS_SEED ?= 1
chaos: with-tests ## 60 random kills and stops of runs under mpirun (CHAOS_SEED=1)
	cmake --build --preset release --target fedsinkhorn-cli
	scripts/chaos.py --runs 60 --seed $(CHAOS_SEED)

chaos-quick: with-tests ## A dozen of them, always the same
	cmake --build --preset release --target fedsinkhorn-cli
	scripts/chaos.py --runs 12 --seed 101

bench: build ## Build and run the benchmarks (BENCH_ARGS=... is passed on)
	build/fedsinkhorn-bench $(BENCH_ARGS)

# Records are kept in build/reproduction: a run that was stopped goes on where it was.
reproduce: build ## Run every study (under 45 minutes on two cores) and write docs/reproduction.md
	scripts/reproduce.sh build

reproduction-page: build ## Write docs/reproduction.md anew from the records in docs/reproduction
	build/fedsinkhorn-experiments markdown docs/reproduction --output docs/reproduction.md

bench-gpu: with-gpu ## Build and run the benchmarks of the CUDA backend, and of rivals where PyTorch is
	cmake --build --preset release --target gpu-benches
	@for bench in $(wildcard build/gpu-benches/*); do echo "== $$bench"; $$bench || exit 1; done
	@if python3 -c 'import torch; assert torch.cuda.is_available()' 2> /dev/null; then python3 bench/cuda/rivals.py; fi

portable: build-portable/build.ninja ## Build the program for machines without these packages (build-portable/, with lib/)
	cmake --build --preset portable --target fedsinkhorn-cli

# With clang: it compiles this faster than GCC does, and its warnings are seen on the way. The rooms that parse,
# communicate and compute.
SANITIZED = core io comm simd kernel problem topology solve risk watch cli
asan: build-asan/build.ninja ## Build and test with AddressSanitizer and UndefinedBehaviorSanitizer, but for slow tests
	cmake --build --preset asan --target $(addprefix test-,$(SANITIZED)) comm-mpi-conformance comm-mpi-guest \
	  risk-mpi-parts
	ctest --preset asan -j $(TEST_JOBS) -R '^($(subst $() ,|,$(strip $(SANITIZED))))\.' -LE slow

asan-all: build-asan/build.ninja ## The same with all tests of all rooms
	cmake --build --preset asan
	ctest --preset asan -j $(TEST_JOBS)

# Only what has threads: clients on threads and inner loops. MPI is not instrumented.
tsan: tsan-comm ## Build and test clients on threads and inner loops with ThreadSanitizer
	cmake --build --preset tsan --target test-topology test-kernel
	ctest --preset tsan -j $(TEST_JOBS) -R '^(topology|kernel)\.'

# ThreadSanitizer cannot follow threads that a forked child starts.
tsan-comm: build-tsan/build.ninja ## Of that, the transport and the thread pool alone, which takes a minute
	cmake --build --preset tsan --target test-comm test-core
	ctest --preset tsan -j $(TEST_JOBS) -R '^(comm|core)\.' -LE slow -E AForkedChild

clang: build-clang/build.ninja ## Compile everything with clang, and run the tests of the kernels
	cmake --build --preset clang
	ctest --preset clang -j $(TEST_JOBS) -R '^(simd|kernel)\.'

# What is found is left in build-fuzz/, named after its target.
fuzz: build-fuzz/build.ninja ## Fuzz what comes from outside: CSV and .npy files, peers, scenarios (FUZZ_SECONDS=600 each)
	cmake --build build-fuzz --target csv-fuzz npy-fuzz peer-fuzz scenario-fuzz
	@mkdir -p build-fuzz/corpus/csv build-fuzz/corpus/npy build-fuzz/corpus/peer build-fuzz/corpus/scenario
	@for target in csv npy peer scenario; do echo "== $$target"; \
	  dict=; test ! -e fuzz/$$target.dict || dict=-dict=fuzz/$$target.dict; \
	  build-fuzz/$$target-fuzz -max_total_time=$(FUZZ_SECONDS) $$dict -max_len=1024 -timeout=60 \
	    -artifact_prefix=build-fuzz/$$target- -print_final_stats=1 build-fuzz/corpus/$$target fuzz/seeds/$$target \
	    || exit 1; done

sources = find include src tests bench experiments examples fuzz python \( -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh' \) -print0

format: packages-lint ## Format all sources in place
	@$(sources) | xargs -0 clang-format -i

format-check: packages-lint ## Fail if a source is not formatted, includes what it must not, or has too long a function
	@$(sources) | xargs -0 clang-format --dry-run -Werror
	@scripts/rooms.py
	@scripts/function_length.py

LINT_FOLDER ?= .
lint: with-tests packages-lint ## Run clang-tidy over what changed since the last tag (LINT_FOLDER=src; LINT_ARGS=--all)
	@ninja -C build build.ninja > /dev/null
	@scripts/lint.py --folder $(LINT_FOLDER) $(LINT_ARGS)

FLAKY_ARGS ?=
N ?= 20
flaky: build ## Repeat the tests under load, N=20 times in all, and list those that failed once (goes on where it stopped)
	scripts/flaky.py --repetitions $(N) $(FLAKY_ARGS)

coverage: build-coverage/build.ninja ## Which share of the lines and branches of src/ the tests run
	cmake --build --preset coverage
	rm -rf build-coverage/profiles
	LLVM_PROFILE_FILE=$(CURDIR)/build-coverage/profiles/%8m%c.profraw ctest --preset coverage -j $(TEST_JOBS) \
	  -E MemoryTest # counters are mapped, too
	scripts/coverage.py build-coverage

check: ## Run .ci/run on a clean clone of HEAD; if all passed, its hash is in build/ci-passed
	scripts/check.sh

nightly: ## What takes too long for every change: all that .ci/run leaves out (hours)
	.ci/run nightly

install: build ## Install program, library and headers (PREFIX=/usr/local)
	cmake --install build --prefix $(PREFIX)

clean: ## Remove everything built
	rm -rf build build-portable build-debug build-asan build-tsan build-clang build-fuzz build-wheel build-asan-python build-coverage \
	  dist demo-output studies

build: with-tests
	cmake --build --preset release

# Configured once, for the program alone; from then on ninja sees to it that changed CMake files are read again.
build/build.ninja: CMakePresets.json | packages-program
	cmake --preset release -DFEDSINKHORN_TESTS=OFF -DFEDSINKHORN_BENCH=OFF
	@touch $@

# From then on build/ has the tests and the benches as well, and MPI.
with-tests: build/build.ninja packages-tests
	@grep -qs FEDSINKHORN_TESTS:BOOL=ON build/CMakeCache.txt || \
	  cmake --preset release -DFEDSINKHORN_TESTS=ON -DFEDSINKHORN_BENCH=ON

torture-build: with-tests
	cmake --build --preset release --target fedsinkhorn-cli fedsinkhorn-torture

# From then on build/ has the CUDA backend, if there is a compiler for it, with a device or without.
with-gpu: with-tests
	cmake --preset release -DFEDSINKHORN_CUDA=COMPILER

build-portable/build.ninja: CMakePresets.json | packages-tests packages-program
	cmake --preset portable
	@touch $@

# Anew: of a folder that another compiler was used in, CMake forgets all settings, sanitizers among them.
build-asan/build.ninja: CMakePresets.json | packages-program packages-tests packages-clang
	cmake --fresh --preset asan
	@touch $@

build-tsan/build.ninja: CMakePresets.json | packages-program packages-tests
	cmake --preset tsan
	@touch $@

build-clang/build.ninja: CMakePresets.json | packages-program packages-tests packages-clang
	cmake --preset clang
	@touch $@

build-coverage/build.ninja: CMakePresets.json | packages-program packages-tests packages-clang
	cmake --preset coverage
	@touch $@

# Without CUDA and MPI: nothing under test uses them.
build-fuzz/build.ninja: fuzz/CMakeLists.txt | packages-program packages-clang
	cmake -S . -B build-fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -gline-tables-only" \
	  -DFEDSINKHORN_FUZZ=ON -DFEDSINKHORN_TESTS=OFF -DFEDSINKHORN_BENCH=OFF \
	  -DFEDSINKHORN_CUDA=OFF -DFEDSINKHORN_MPI=OFF -DFEDSINKHORN_SANITIZE=fuzzer-no-link,address,undefined
	@touch $@

packages-%:
	@scripts/install-packages.sh $*
