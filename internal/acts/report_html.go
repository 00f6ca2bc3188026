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
	for _, a := range r.areas() {
		line := row{Suite: a.Name}
		for _, i := range r.Interfaces {
			line.Cells = append(line.Cells, r.Counts(func(x *Result) bool { return x.Suite == a.ID && i.has(x) }))
		}
		data.Rows = append(data.Rows, line)
	}
	return pageTemplate.Execute(w, data)
}

type levelCount struct {
	Level Level
	Count
}
