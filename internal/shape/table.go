package shape

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/parley-a2a/parley/internal/plain"
)

// Table formats the document as a table. If it has exactly one list of objects, each object is
// a row, with a column for each value in them; otherwise each value is a row. Names are paths,
// such as status.state, and a list inside an object is shown by its length.
func Table(_ context.Context, doc []byte) ([]byte, error) {
	v, err := decode(doc)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if rows, ok := listOf(v); ok {
		writeRows(w, rows)
	} else {
		cells := map[string]string{}
		flatten(cells, "", v)
		for _, name := range slices.SortedFunc(maps.Keys(cells), byImportance) {
			fmt.Fprintf(w, "%s\t%s\n", name, cells[name])
		}
	}
	if err := w.Flush(); err != nil {
		return nil, err
	}
	var lines []string
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.TrimRight(line, " \n")+"\n")
	}
	return []byte(strings.Join(lines, "")), nil
}

// listOf returns the rows of an object with one list of objects.
func listOf(v any) (rows []map[string]string, ok bool) {
	object, _ := v.(map[string]any)
	for _, member := range object {
		list, isList := member.([]any)
		if !isList {
			continue
		}
		if ok {
			return nil, false // two lists
		}
		ok = true
		for _, element := range list {
			if _, isObject := element.(map[string]any); !isObject {
				return nil, false
			}
			cells := map[string]string{}
			flatten(cells, "", element)
			rows = append(rows, cells)
		}
	}
	return rows, ok
}

func writeRows(w *tabwriter.Writer, rows []map[string]string) {
	all := map[string]bool{}
	for _, row := range rows {
		for name := range row {
			all[name] = true
		}
	}
	columns := slices.SortedFunc(maps.Keys(all), byImportance)
	fmt.Fprintln(w, strings.Join(columns, "\t"))
	for _, row := range rows {
		var cells []string
		for _, name := range columns {
			cells = append(cells, row[name])
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
}

// byImportance sorts ids first and lists last.
func byImportance(a, b string) int {
	rank := func(name string) int {
		switch {
		case name == "id" || name == "name" || name == "task.id":
			return 0
		case strings.HasSuffix(name, "Id") || strings.HasSuffix(name, ".state"):
			return 1
		}
		return 2
	}
	if d := rank(a) - rank(b); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

func flatten(cells map[string]string, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if path != "" {
				name = path + "." + name
			}
			flatten(cells, plain.Line(name), member)
		}
	case []any:
		cells[path] = plain.Count(len(v), "element")
	case nil:
		cells[path] = "null"
	default:
		cells[path] = plain.Line(fmt.Sprint(v))
	}
}
