# What people type. The checks themselves are in .ci/check, so that a
# continuous integration run and a desk run are the same run.

.PHONY: test quick lint build fuzz interop console screenshots pictures matrix trace recipes torture abuse restart bench engines gobench allocs cover clean api snapshot reproducible release workflows

test: ## everything a change is judged by
	@.ci/install
	@.ci/check format vet staticcheck vuln test allocs interop console bench

quick: ## formatting, vet and the unit tests of packages that differ from main, in a minute
	@.ci/check quick

lint: ## formatting, vet for each system, staticcheck, and the wording of comments, texts and pages
	@.ci/check format vet staticcheck words

build: ## bin/parley, without symbols and debugging information
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o bin/parley ./cmd/parley

fuzz: ## every fuzz target for FUZZTIME (default 2s); their corpora are a part of test
	@.ci/check fuzz

interop: ## programs nobody here wrote, on both sides of this tree's binary; prints a table
	@.ci/check interop

console: ## journeys through the web console in a real Chromium
	@.ci/check console

screenshots: ## a picture of every screen of the web console, light, dark and narrow, in bin/screenshots
	@mkdir -p bin/screenshots
	@cd test/console && PICTURES="$(CURDIR)/bin/screenshots" go test -count=1 -run '^TestScreens$$' .

pictures: screenshots ## docs/pictures anew: three screens of the console, and README's animation, recorded from two real terminals
	@for screen in chat inbox timeline; do cp bin/screenshots/$$screen-light.png docs/pictures/$$screen.png; done
	@go test -count=1 -run '^TestPicture$$' ./cmd/parley -picture

matrix: ## every behaviour over every dialect and binding, printed as a table
	@cd test/conformance && go test -count=1 -run '^TestMatrix$$' -matrix

trace: ## one message through two servers, a program and a webhook, with a kill -9 on the way: what a collector got, printed as a tree
	@cd test/trace && go test -count=1 -run '^TestOneTrace$$' -tree

recipes: ## agents of other frameworks behind the hosts: fetches the packages of npm and runs them; FastAPI runs if a Python of this machine has it
	cd hosts/typescript/recipes && npm install --no-audit --no-fund
	go test -v -count=1 -run TestRecipes ./agent ./agent/httpagent

# ROUNDS, HOOKS, SEED and CLIENTS adjust it; LOGS names a directory that keeps the logs and databases. STORE=postgres tortures three
# servers at one PostgreSQL instead, of which TAKEOVERS are killed to see how long their tasks stand still, and EVENTS go from one to another;
# OLD is an older binary that a rolling upgrade begins with. STORE=failover lets the primary of three PostgreSQL servers fail ROUNDS (100) times;
# WITH=-async finds what is lost without synchronous replication, WITH=-fronted has PgBouncer and HAProxy in between, WITH="-skew 3m" clocks that differ,
# WITH=-hooks clients with webhooks and tasks that are soon deleted; with WITH=-patroni Patroni and etcd choose the primary.
torture: ## 200 rounds of kill -9, of a failing store, of a bad network and of clients that tell secrets, and 1,000 tasks with webhooks, printed as tables
ifeq ($(STORE),postgres)
	@go test -count=1 -timeout 3h -v -run '^(TestReplicas|TestRolling|TestTakeOver|TestEventLatency)$$' ./test/torture -replica-rounds $(or $(ROUNDS),200) -takeovers $(or $(TAKEOVERS),100) -events $(or $(EVENTS),1000) -old "$(OLD)" -seed $(or $(SEED),0) -clients $(or $(CLIENTS),50) -logs "$(LOGS)"
else ifeq ($(STORE),failover)
	@go test -count=1 -timeout 3h -v -run '^TestFailover$$' ./test/torture -failovers $(or $(ROUNDS),100) $(WITH) -old "$(OLD)" -seed $(or $(SEED),0) -clients $(or $(CLIENTS),50) -logs "$(LOGS)"
else
	@go test -count=1 -timeout 2h -v -run '^(TestTorture|TestTortureHosts|TestWebhooks|TestSecrets)$$' ./test/torture -rounds $(or $(ROUNDS),200) -hook-tasks $(or $(HOOKS),1000) -seed $(or $(SEED),0) -clients $(or $(CLIENTS),50) -logs "$(LOGS)"
endif

# TIME, ROUNDS and CALLERS adjust it; LOGS names a directory that keeps the log and the database.
abuse: ## 50 callers who behave, half a minute in quiet and half a minute beside 200 connections that do not, ROUNDS (5) times in turn, measured and printed as tables
	@go test -count=1 -timeout 2h -v ./test/abuse -abuse $(or $(TIME),30s) -rounds $(or $(ROUNDS),5) -callers $(or $(CALLERS),50) -logs "$(LOGS)"

# FINISHED, UNFINISHED and STARTS adjust it; STOCK names a directory that keeps the databases, which take minutes to make.
restart: ## starts on a database of 1,000,000 finished tasks and 10,000 unfinished ones, measured and printed as a table
	@go test -count=1 -timeout 2h -v -run '^TestRestart$$' ./test/torture -finished $(or $(FINISHED),1000000) -unfinished $(or $(UNFINISHED),10000) -starts $(or $(STARTS),3) -stock "$(STOCK)"

# BENCH replaces its options: BENCH=-bar is what the bar asks for, three quarters of an hour; BENCH= the long form, hours (docs/performance.md).
bench: ## the short form of bench/: this tree's server beside a bare one and other SDKs', each scenario for a moment, printed as tables
	@cd bench && go vet ./... && go test ./... && go run . $(if $(filter undefined,$(origin BENCH)),-short,$(BENCH))

engines: ## the store's suite on PostgreSQL in each combination of what other engines lack, while transactions fail with 40001 and connections are cut
	@go test -count=1 -timeout 3h -v -run '^TestSwitches$$' ./store/postgres -switches

gobench: ## every Go benchmark once, with allocations
	go test -run '^$$' -bench . -benchmem ./...

# ALLOCS=-update writes the figures as they are.
allocs: ## what Go benchmarks allocate per operation, beside test/allocs/allocs.txt; fails on growth beyond 10 %
	@go run ./test/allocs $(ALLOCS)

# EXACT=-exact fails on what is not listed instead, as a release does.
api: ## adds to test/api what programs, scripts and configuration files may now rely on
	@go test -count=1 ./test/api -run '^TestProgramsKeepCompiling$$' $(or $(EXACT),-update)
	@go test -count=1 ./cmd/parley -run '^TestScriptsAndFilesKeepWorking$$' $(or $(EXACT),-update)

cover: ## statement coverage over all packages; the profile is bin/cover.out
	@mkdir -p bin
	go test -coverpkg=./... -coverprofile=bin/cover.out ./...
	@go tool cover -func=bin/cover.out | tail -n 1

# Pinned, so that the next release is built as this one was. The first call compiles it, which takes minutes.
goreleaser = go run github.com/goreleaser/goreleaser/v2@v2.15.1

# PARALLEL is how many programs are built at a time.
snapshot: ## everything a release has, unpublished, in dist: deploy/release/README.md
	@$(goreleaser) release --snapshot --clean --skip=docker --parallelism=$(or $(PARALLEL),2)
	@deploy/release/check dist

reproducible: snapshot ## make snapshot again, from a clone elsewhere and an empty cache: the same bytes
	@deploy/release/again dist

release: ## publishes a draft of the release of this commit's tag, for .github/workflows/release.yml
	@$(goreleaser) release --clean
	@deploy/release/check dist

workflows: ## what actionlint says of .github
	@go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 -color

clean:
	rm -rf bin dist interop/js/node_modules test/console/node_modules
