package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// markdown writes the figures of an earlier run, a file of -json, as tables for
// FIGURES.md.
func markdown(w io.Writer, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var r report
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var heading strings.Builder
	r.heading(&heading)
	lines := strings.Split(strings.TrimSpace(heading.String()), "\n")
	fmt.Fprintf(w, "%s\n\n", strings.Join(lines[:2], ". "))
	for _, l := range lines[2:] {
		fmt.Fprintf(w, "* %s\n", strings.Join(strings.Fields(l), " "))
	}
	fmt.Fprintln(w)
	if len(r.Bar) > 0 {
		markdownTable(w, r.barRows())
	}
	for _, s := range r.Scenarios {
		fmt.Fprintf(w, "### (%s) %s\n\n", s.Key, s.Title)
		markdownTable(w, s.rows())
		for _, n := range s.notes() {
			fmt.Fprintf(w, "* %s\n", n)
		}
		if len(s.notes()) > 0 {
			fmt.Fprintln(w)
		}
	}
	return nil
}

// markdownTable writes rows as Markdown does. A row of one column is about those
// that follow, so it goes in front of them.
func markdownTable(w io.Writer, rows [][]string) {
	width := len(rows[0])
	fmt.Fprintf(w, "| %s |\n|%s\n", strings.Join(rows[0], " | "), ":--|"+strings.Repeat("--:|", width-1))
	group := ""
	for _, row := range rows[1:] {
		if len(row) == 1 {
			group = row[0] + ": "
			continue
		}
		cells := append([]string{group + strings.TrimSpace(row[0])}, row[1:]...)
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
	fmt.Fprintln(w)
}
