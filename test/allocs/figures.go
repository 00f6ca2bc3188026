package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// figures of one benchmark, per operation.
type figures struct{ allocs, bytes int64 }

// table has them by package and benchmark.
type table map[string]figures

const versionLine = "# Per operation: allocations, bytes. Written by make allocs ALLOCS=-update, with "

func (t table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s.\n", versionLine, runtime.Version())
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, name := range slices.Sorted(maps.Keys(t)) {
		fmt.Fprintf(w, "%s\t%d\t%d\n", name, t[name].allocs, t[name].bytes)
	}
	_ = w.Flush() // a strings.Builder takes everything
	return b.String()
}

// goVersion is the one that the figures are of.
func goVersion(text string) string {
	rest, _ := strings.CutPrefix(text, versionLine)
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSuffix(line, ".")
}

// parse is the inverse of String.
func parse(text string) (table, error) {
	t := table{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		f := strings.Fields(lines.Text())
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		var one figures
		var err error
		if len(f) != 3 {
			err = fmt.Errorf("%d columns", len(f))
		} else if one.allocs, err = strconv.ParseInt(f[1], 10, 64); err == nil {
			one.bytes, err = strconv.ParseInt(f[2], 10, 64)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		t[f[0]] = one
	}
	return t, lines.Err()
}

// read adds what go test -bench -benchmem printed for a package: of a benchmark that
// is there the least.
func (t table) read(pkg, out string) error {
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "Benchmark") || !strings.Contains(line, " allocs/op") {
			continue
		}
		f := strings.Fields(line)
		name := f[0]
		if i := strings.LastIndexByte(name, '-'); i > 0 { // GOMAXPROCS
			name = name[:i]
		}
		var one figures
		for i := 2; i+1 < len(f); i += 2 {
			var into *int64
			switch f[i+1] {
			case "allocs/op":
				into = &one.allocs
			case "B/op":
				into = &one.bytes
			default:
				continue
			}
			v, err := strconv.ParseInt(f[i], 10, 64)
			if err != nil {
				return fmt.Errorf("%s: %q: %w", pkg, line, err)
			}
			*into = v
		}
		key := pkg + "." + name
		if before, ok := t[key]; ok {
			one = figures{min(one.allocs, before.allocs), min(one.bytes, before.bytes)}
		}
		t[key] = one
	}
	return nil
}

// above returns which benchmarks of a package, or parts of them, have figures that are too
// high beside was.
func (t table) above(was table, pkg string, names []string) (high []string) {
	for _, name := range names {
		for key, now := range t {
			before, known := was[key]
			part, _ := strings.CutPrefix(key, pkg+".")
			if bench, _, _ := strings.Cut(part, "/"); known && bench == name && tooHigh(before, now) != "" {
				high = append(high, name)
				break
			}
		}
	}
	return high
}

// keep drops the figures of other packages.
func (t table) keep(pkg string) {
	maps.DeleteFunc(t, func(name string, _ figures) bool { return !strings.HasPrefix(name, pkg+".") })
}

// comparison says what changed. wrong are the benchmarks for which it fails.
type comparison struct {
	rows  [][]string
	wrong []string
}

// grew says whether a figure is more than 10 % above what it was, and by more
// than what is chance.
func grew(was, is, chance int64) bool { return is*10 > was*11 && is-was > chance }

// tooHigh says what of a benchmark grew; "": nothing.
func tooHigh(was, is figures) string {
	switch {
	case was.allocs == 0 && is.allocs > 0, grew(was.allocs, is.allocs, 1):
		return "GREW"
	case grew(was.bytes, is.bytes, 128):
		return "GREW (bytes)"
	}
	return ""
}

func compare(was, is table) (c comparison) {
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		before, known := was[name]
		now, there := is[name]
		verdict := ""
		switch {
		case !known:
			verdict = "NEW"
		case !there:
			verdict = "GONE"
		case tooHigh(before, now) != "":
			verdict = tooHigh(before, now)
		case now.allocs*100 < before.allocs*98:
			verdict = "shrank"
		case now.allocs*100 > before.allocs*102:
			verdict = "grew a little"
		case now.bytes*10 < before.bytes*9:
			verdict = "shrank (bytes)"
		default:
			continue
		}
		if strings.ToUpper(verdict[:1]) == verdict[:1] {
			c.wrong = append(c.wrong, name)
		}
		cell := func(known bool, f figures) (string, string) {
			if !known {
				return "–", "–"
			}
			return strconv.FormatInt(f.allocs, 10), strconv.FormatInt(f.bytes, 10)
		}
		a, b := cell(known, before)
		x, y := cell(there, now)
		c.rows = append(c.rows, []string{name, a, x, b, y, verdict})
	}
	return c
}

func (c comparison) print(out io.Writer) {
	if len(c.rows) == 0 {
		return
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tallocs/op\tnow\tB/op\tnow\t")
	for _, row := range c.rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // the table is for people; what fails is returned
}
