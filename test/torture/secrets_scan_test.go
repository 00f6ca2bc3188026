package torture

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/sqlite"
)

// scan looks for secrets in all that a server has left behind: each file below
// the directories, and the database row by row. What the database's file has
// beside its rows, such as pages that are free, must have no secret that is in no
// row.
func scan(m *marks, dirs []string, database string, note func(format string, args ...any)) (files, rows int, err error) {
	inRows, rows, err := scanRows(m, database, note)
	if err != nil {
		return 0, 0, err
	}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			files++
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			var allowed []place
			if strings.HasPrefix(path, database) { // and its logs
				allowed = inRows
			}
			if bad := except(m.in(b), allowed); len(bad) > 0 {
				note("%s has secrets of %v", filepath.Base(path), bad)
			}
			if bad := m.in([]byte(path)); len(bad) > 0 {
				note("a file is called %s", path)
			}
			return nil
		})
		if err != nil {
			return 0, 0, err
		}
	}
	return files, rows, nil
}

// scanRows looks at every value of every table, and at tasks that are packed in clear.
// It returns the places whose secrets are where they may be.
func scanRows(m *marks, database string, note func(format string, args ...any)) (found []place, rows int, err error) {
	db, err := sqlite3.Open("file:" + filepath.ToSlash(database) + "?mode=ro")
	if err != nil {
		return nil, 0, err
	}
	defer db.Close()
	look := func(column string, value []byte) {
		for _, p := range m.in(value) {
			// A secret that is coded may be in the columns that are for one.
			switch {
			case !slices.Contains(kept[p], column) && (p != "coded" || column != "push.body" && !slices.Contains(kept[inContent], column)):
				note("%s has a secret of %s: %.200q", column, p, value)
			case !slices.Contains(found, p):
				found = append(found, p)
			}
		}
	}
	var tables []string
	if err := query1(db, "SELECT name FROM sqlite_schema WHERE type = 'table'", func(s *sqlite3.Stmt) {
		tables = append(tables, s.ColumnText(0))
	}); err != nil {
		return nil, 0, err
	}
	for _, table := range tables {
		err := query1(db, fmt.Sprintf("SELECT * FROM %q", table), func(s *sqlite3.Stmt) {
			rows++
			for i := range s.ColumnCount() {
				if column := table + "." + s.ColumnName(i); column != "task.head" { // see below
					look(column, []byte(s.ColumnText(i)))
				}
			}
		})
		if err != nil {
			return nil, 0, err
		}
	}
	var tasks []store.Key
	if err := query1(db, "SELECT tenant, owner, id FROM task WHERE head IS NOT NULL", func(s *sqlite3.Stmt) {
		tasks = append(tasks, store.Key{Tenant: s.ColumnText(0), Owner: s.ColumnText(1), ID: s.ColumnText(2)})
	}); err != nil {
		return nil, 0, err
	}
	r, err := sqlite.OpenReader(database)
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	for _, k := range tasks {
		rec, err := r.Get(context.Background(), k, store.Whole)
		if err != nil {
			return nil, 0, err
		}
		look("task.head", rec.Seal.Head)
		look("seal.body", rec.Seal.Body)
		for en, err := range store.EachEntry(context.Background(), r, k, 0, store.Whole) {
			if err != nil {
				return nil, 0, err
			}
			look("entry.body", en.Body)
		}
	}
	return found, rows, nil
}

func query1(db *sqlite3.Conn, sql string, row func(*sqlite3.Stmt)) error {
	s, _, err := db.Prepare(sql)
	if err != nil {
		return err
	}
	defer s.Close()
	for s.Step() {
		row(s)
	}
	return s.Err()
}
