package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestGrowthFails(t *testing.T) {
	was := table{"p.A": {100, 1000}, "p.B": {5, 80}, "p.C": {0, 0}, "p.D": {20, 4000}}
	for what, c := range map[string]struct {
		name  string
		now   figures
		wrong bool
	}{
		"the same":                    {"p.A", figures{100, 1000}, false},
		"10 % more":                   {"p.A", figures{110, 1000}, false},
		"11 % more":                   {"p.A", figures{111, 1000}, true},
		"fewer":                       {"p.A", figures{50, 500}, false},
		"one more of few":             {"p.B", figures{6, 80}, false},
		"two more of few":             {"p.B", figures{7, 80}, true},
		"one where there was none":    {"p.C", figures{1, 8}, true},
		"bytes within chance":         {"p.B", figures{5, 200}, false},
		"11 % more bytes, as often":   {"p.D", figures{20, 4440}, true},
		"more bytes, but within 10 %": {"p.D", figures{20, 4400}, false},
	} {
		is := table{}
		for name, f := range was {
			is[name] = f
		}
		is[c.name] = c.now
		if got := compare(was, is); slices.Contains(got.wrong, c.name) != c.wrong {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

func TestNewAndGoneFail(t *testing.T) {
	c := compare(table{"p.Old": {1, 8}, "p.Same": {1, 8}}, table{"p.New": {1, 8}, "p.Same": {1, 8}})
	if !slices.Equal(c.wrong, []string{"p.New", "p.Old"}) {
		t.Errorf("%v", c.wrong)
	}
	var out strings.Builder
	c.print(&out)
	for _, want := range []string{"NEW", "GONE"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
}

func TestFiguresAreReadAsTheyAreWritten(t *testing.T) {
	is := table{}
	err := is.read("engine", `goos: linux
BenchmarkOps/memory/send-2         	    1000	     35775 ns/op	   13881 B/op	     121 allocs/op
BenchmarkStore/append/writers=1-2  	     300	    644614 ns/op	  1.000 entries/commit	 679 B/op	      11 allocs/op
BenchmarkPort/net-http-2           	     300	    644614 ns/op	 102.50 MB/s	 679 B/op	      11 allocs/op
PASS
`)
	want := table{
		"engine.BenchmarkOps/memory/send": {121, 13881}, "engine.BenchmarkStore/append/writers=1": {11, 679}, "engine.BenchmarkPort/net-http": {11, 679},
	}
	if err != nil || len(compare(want, is).rows) != 0 || len(is) != len(want) {
		t.Fatalf("%v, %v", is, err)
	}
	again, err := parse(is.String())
	if err != nil || again.String() != is.String() {
		t.Errorf("%v, %v", again, err)
	}
	if _, err := parse("engine.BenchmarkOps many 3"); err == nil {
		t.Error("words were taken for figures")
	}
}

// A benchmark that allocates more than its figure says makes the command fail:
// the whole way, with a module of its own.
func TestCommandFailsWhenSomethingGrows(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bench := func(n string) string {
		return `package p
import "testing"
var keep []*int
func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		keep = keep[:0]
		for range ` + n + ` { keep = append(keep, new(int)) }
	}
}
`
	}
	write("go.mod", "module example.com/m\n\ngo 1.26\n")
	write("p/p.go", "package p\n")
	write("p/p_test.go", bench("10"))
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "") // -race among them would count allocations of its own
	command := func(update bool) (string, error) {
		var out strings.Builder
		err := run(t.Context(), &out, "", update)
		return out.String(), err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := command(false); err == nil {
		t.Errorf("without figures: %s", out)
	}
	if out, err := command(true); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// 80 bytes, and on a busy machine, where it runs few times, some of the runtime's.
	if text, _ := os.ReadFile(path); !regexp.MustCompile(`(?m)^p\.BenchmarkNew  10  [89]\d$`).Match(text) {
		t.Fatalf("%s", text)
	}
	if out, err := command(false); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	write("p/p_test.go", bench("12"))
	out, err := command(false)
	if err == nil || !strings.Contains(out, "GREW") {
		t.Errorf("%v\n%s", err, out)
	}
	// Once more by chance is no growth.
	write("p/p_test.go", strings.Replace(bench("n"), `import "testing"`, `import (
	"os"
	"testing"
)
var n = 10
func init() {
	if _, err := os.Stat("again"); err != nil {
		n = 12
		os.WriteFile("again", nil, 0o600)
	}
}`, 1))
	if out, err := command(false); err != nil || strings.Contains(out, "GREW") {
		t.Errorf("%v\n%s", err, out)
	}
	write("p/p_test.go", bench("5"))
	if out, err := command(false); err != nil || !strings.Contains(out, "shrank") {
		t.Errorf("%v\n%s", err, out)
	}
	write("p/p_test.go", "package p\n")
	if out, err := command(false); err == nil || !strings.Contains(out, "GONE") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestRulesAreForBenchmarksThereAre(t *testing.T) {
	all, err := find("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stale(all) {
		t.Error(s)
	}
	for key, r := range rules {
		if r.why == "" {
			t.Errorf("%s: say why", key)
		}
	}
}
