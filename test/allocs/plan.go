package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// often is how many times a benchmark is run that rules does not name.
const often = 1000

// rule is for a benchmark that is not run as the others are.
type rule struct {
	times int    // 0: it is not watched
	skip  string // its parts that are not, as go test -skip takes it
	why   string
}

// rules, by package and benchmark.
var rules = map[string]rule{
	"a2a.BenchmarkDecodeDeep": {times: 20, why: "a megabyte each"},
	"a2a.BenchmarkCheck":      {times: often, skip: "BenchmarkCheck/encoding", why: "of the standard library, to compare with"},

	"a2aserver.BenchmarkFanOut":  {why: "a thousand readers who come when they come; BenchmarkSharedEvent is one"},
	"a2aserver.BenchmarkTracing": {why: "measures times, and what is kept of spans depends on when they are sent"},
	"a2aserver.BenchmarkPort":    {why: "what the network allocates depends on how its packets come"},

	"engine.BenchmarkEcho":                               {why: "what many callers share depends on who comes when; BenchmarkOps is one caller"},
	"engine.BenchmarkChunks":                             {times: 100, skip: "BenchmarkChunks/chunks=(10000|100000)$", why: "long"},
	"engine/internal/outbox.BenchmarkPendingToADeadHost": {why: "measures times"},
	"engine/internal/outbox.BenchmarkIdlePushes":         {why: "measures memory by itself"},
	"engine.BenchmarkSlowWebhook":                        {why: "measures times"},
	"engine.BenchmarkKnown":                              {why: "measures times, on large stores"},
	"engine.BenchmarkRetention":                          {why: "measures times, on large stores"},
	"store/sqlite.BenchmarkClaim":                        {why: "measures times, on large stores"},
	"store/sqlite.BenchmarkClaimPushes":                  {why: "measures times, on large stores"},
	"store/sqlite.BenchmarkLivePushes":                   {why: "measures times, on large stores"},
	"store/sqlite.BenchmarkAllOwners":                    {why: "measures times, on large stores"},
	"store/sqlite.BenchmarkStore":                        {times: 200, skip: manyWriters, why: "which calls share a commit depends on when they come"},
	"store/sqlite.BenchmarkList":                         {times: 50, skip: "BenchmarkList/100000", why: "a large store takes long to make; what a page allocates is the same"},
	"store/sqlite.BenchmarkTask":                         {times: 200, skip: "BenchmarkTask/.*/random|BenchmarkTask/.*/.*/busy=64", why: "each store takes long to fill"},
	"store/storetest.BenchmarkMemory":                    {times: 200, skip: manyWriters, why: "as BenchmarkStore"},
	"internal/console.BenchmarkPage":                     {times: 20, skip: "BenchmarkPage/100000$", why: "long"},
	"internal/console.BenchmarkReplay":                   {times: 20, skip: "BenchmarkReplay/100000$", why: "long"},
	"internal/webhook.BenchmarkBearer":                   {times: 20, why: "signatures take long"},
	"internal/dialect.BenchmarkCodecFile":                {times: 20, why: "a megabyte each"},
}

const manyWriters = "/append/writers=(16|64|256)"

// found are the benchmarks of a module, by package.
type found map[string][]string

// served is left out: its benchmarks need a PostgreSQL server, which is not on every
// machine, and what an operation allocates depends on how many share a commit.
const served = "store/postgres"

// find looks for benchmarks in the module at dir, and in no other below it.
func find(dir string) (found, error) {
	all := found{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path == dir {
				return nil
			}
			if name := d.Name(); strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules" {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
				return filepath.SkipDir
			}
			if rel, err := filepath.Rel(dir, path); err == nil && filepath.ToSlash(rel) == served {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkg, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Benchmark") {
				all[filepath.ToSlash(pkg)] = append(all[filepath.ToSlash(pkg)], fn.Name.Name)
			}
		}
		return nil
	})
	return all, err
}

// pkgPlan is what is run of a package.
type pkgPlan struct {
	pkg  string
	runs []benchRun
}

// benchRun are benchmarks that are run alike.
type benchRun struct {
	names []string
	times int
	skip  string
}

// plan puts together what can be run together.
func plan(all found) []pkgPlan {
	var plans []pkgPlan
	for pkg, names := range all {
		p := pkgPlan{pkg: pkg}
		for _, name := range names {
			r, ok := rules[pkg+"."+name]
			if !ok {
				r.times = often
			}
			if r.times == 0 {
				continue
			}
			i := slices.IndexFunc(p.runs, func(b benchRun) bool { return b.times == r.times && b.skip == r.skip })
			if i < 0 {
				i, p.runs = len(p.runs), append(p.runs, benchRun{times: r.times, skip: r.skip})
			}
			p.runs[i].names = append(p.runs[i].names, name)
		}
		if len(p.runs) > 0 {
			plans = append(plans, p)
		}
	}
	slices.SortFunc(plans, func(a, b pkgPlan) int { return strings.Compare(a.pkg, b.pkg) })
	return plans
}

// stale says which rules are for benchmarks that are not there.
func stale(all found) (gone []string) {
	for key := range rules {
		pkg, name, _ := strings.Cut(key, ".")
		if !slices.Contains(all[pkg], name) {
			gone = append(gone, fmt.Sprintf("%s has no %s", pkg, name))
		}
	}
	slices.Sort(gone)
	return gone
}
