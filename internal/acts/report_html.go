package acts

import (
	_ "embed"
	"html/template"
	"io"
	"time"
)

//go:embed report.html
var page string

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"clause": clause,
	"round":  func(d time.Duration) time.Duration { return d.Round(time.Millisecond) },
}).Parse(page))

// writeHTML writes a report as a self-contained page.
func (r *Report) writeHTML(w io.Writer) error {
	type row struct {
		Suite string
		Cells []Count
	}
	data := struct {
		*Report
		Levels []levelCount
		Rows   []row
	}{Report: r}
	for _, l := range Levels {
		data.Levels = append(data.Levels, levelCount{l, r.Counts(func(x *Result) bool { return x.Level == l })})
	}
	seen := map[string]bool{}
	for _, x := range r.Results {
		if seen[x.Suite] {
			continue
		}
		seen[x.Suite] = true
		line := row{Suite: x.SuiteName}
		for _, i := range r.Interfaces {
			line.Cells = append(line.Cells, r.Counts(func(y *Result) bool {
				return y.Suite == x.Suite && y.Binding == i.Binding && y.Version == i.Version
			}))
		}
		data.Rows = append(data.Rows, line)
	}
	return pageTemplate.Execute(w, data)
}

type levelCount struct {
	Level Level
	Count
}
