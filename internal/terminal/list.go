package terminal

import (
	"fmt"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/plain"
)

// shortID is the minimum length of a shown id.
const shortID = 8

// List shows tasks, one per line: as much of the id as distinguishes it from the others, the
// state, how long ago it changed and the first words.
func (r *Renderer) List(tasks []*a2a.Task, now time.Time) error {
	n := shortID
	for i, t := range tasks {
		for _, other := range tasks[:i] {
			n = max(n, common(t.ID, other.ID)+1)
		}
	}
	rows := make([][3]string, 0, len(tasks))
	var widths [3]int
	for _, t := range tasks {
		row := [3]string{Cut(plain.Line(t.ID[:min(n, len(t.ID))]), 40), Word(t.Status.State), Age(now.Sub(t.Status.Timestamp))}
		if t.Status.Timestamp.IsZero() {
			row[2] = "-"
		}
		for i, cell := range row {
			widths[i] = max(widths[i], runewidth.StringWidth(cell))
		}
		rows = append(rows, row)
	}
	columns := len(widths)
	if widths[0]+widths[1]+widths[2]+4 >= r.w.s.Width() {
		columns = 2 // the age is the least
	}
	for i, row := range rows {
		var line strings.Builder
		for j, cell := range row[:columns] {
			cell = runewidth.FillRight(cell, widths[j])
			if j == 1 {
				cell = r.w.s.paint(styleOf(tasks[i].Status.State), cell)
			}
			line.WriteString(cell + "  ")
		}
		room := r.w.s.Width() - 1
		for _, w := range widths[:columns] {
			room -= w + 2
		}
		if room > 0 {
			line.WriteString(Cut(firstWords(tasks[i]), room))
		}
		r.w.line(strings.TrimRight(line.String(), " "))
	}
	return r.w.flush()
}

// Summary prints the last line of a list.
func (r *Renderer) Summary(format string, args ...any) error {
	r.w.line(r.w.s.paint(dim, plain.Line(fmt.Sprintf(format, args...))))
	return r.w.flush()
}

// Said returns the agent's status message, on one line and shortened, or "".
func Said(t *a2a.Task) string { return Cut(plain.Line(textOf(t.Status.Message)), 60) }

// About briefly describes a task: its state, its age and its first words.
func About(t *a2a.Task, now time.Time) string {
	about := Word(t.Status.State)
	if !t.Status.Timestamp.IsZero() {
		about += ", " + Age(now.Sub(t.Status.Timestamp))
	}
	if words := firstWords(t); words != "" {
		about += ": " + Cut(words, 60)
	}
	return about
}

func styleOf(s a2a.TaskState) string {
	switch {
	case s == a2a.TaskStateCompleted:
		return green
	case s.Interrupted():
		return yellow
	case s.Terminal():
		return red
	}
	return cyan
}

// common returns the length of the common prefix of two ids.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// firstWords returns the client's first message, if the task has it, or else the agent's status
// message.
func firstWords(t *a2a.Task) string {
	for _, m := range t.History {
		if m.Role == a2a.RoleUser {
			return plain.Line(textOf(m))
		}
	}
	return plain.Line(textOf(t.Status.Message))
}

// Age formats how long ago something was, in one unit.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", max(int(d.Seconds()), 0))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return fmt.Sprintf("%dd ago", int(d.Hours()/24))
}
