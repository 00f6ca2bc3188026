package sqlite

import (
	"context"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// columns are the columns of a store.Row, in the order in which scan reads them.
const columns = "tenant, owner, id, context, state, updated, created, last, active, node, epoch, lost, turn, attempt"

// scan reads columns.
func scan(r *sqlite3.Stmt) store.Row {
	return store.Row{
		Key:     store.Key{Tenant: r.ColumnText(0), Owner: r.ColumnText(1), ID: r.ColumnText(2)},
		Context: r.ColumnText(3),
		State:   int32(r.ColumnInt64(4)),
		Updated: milli(r.ColumnInt64(5)),
		Created: milli(r.ColumnInt64(6)),
		Last:    r.ColumnInt64(7),
		Active:  r.ColumnBool(8),
		Node:    r.ColumnText(9),
		Epoch:   r.ColumnInt64(10),
		Lost:    int32(r.ColumnInt64(11)),
		Turn:    r.ColumnInt64(12),
		Attempt: int32(r.ColumnInt64(13)),
	}
}

// fieldsOf returns the columns that a query needs: with the heads of seals, or with whole
// seals.
func fieldsOf(q *store.Query) string {
	if q.Body {
		return allFields
	}
	return headFields
}

// records selects the records of the tasks that rest selects, each with its seal if that is
// at most most bytes. Larger seals are not read at all, because SQLite finds the length of a
// column without reading its overflow pages. fields is columns, headFields or allFields.
func (c *conn) records(fields string, most int64, rest string) *stmt {
	sql := getAll // the most frequent one, without a concatenation
	if fields != allFields || rest != named {
		sql = "SELECT " + fields + " FROM " + rest
	}
	st := c.sql(sql)
	if fields != columns {
		st.int(most)
	}
	return st
}

const (
	named  = "task WHERE tenant = ? AND owner = ? AND id = ?"
	getAll = "SELECT " + allFields + " FROM " + named
)

// The fields of records: columns; the size; the size of a piece's head (NULL: no piece); the
// head or piece; and with allFields the size of a piece's body, the body, and the key of the
// body's chunks. ?1 is the limit for head and body in bytes; a piece is small and always
// read.
const (
	sizeOfLog   = "coalesce((SELECT sum(length(entry.body) + " + entryChunks + ") FROM entry WHERE entry.task = task.key), 0)"
	sizeOfBlobs = "coalesce((SELECT sum((SELECT length(data) + " + blobChunks + " FROM blob WHERE blob.key = blob_task.blob)) FROM blob_task WHERE blob_task.task = task.key), 0)"

	headFields = columns + ", coalesce(head_size, length(head), " + sizeOfLog + " + " + sizeOfBlobs + "), head_size, " +
		"CASE WHEN head_size IS NOT NULL OR length(head) <= ?1 THEN head END"

	// A body is in the row or, if it is large, in the table seal.
	allFields = columns + ", coalesce(head_size + body_size, length(head) + coalesce(length(task.body), (SELECT length(seal.body) + " + sealChunks + " FROM seal WHERE seal.task = task.key)), " + sizeOfLog + ") + " + sizeOfBlobs + ", head_size, " +
		"CASE WHEN head_size IS NOT NULL OR length(head) + coalesce(length(task.body), 0) <= ?1 THEN head END, body_size, " +
		"CASE WHEN head_size IS NOT NULL THEN NULL WHEN task.body IS NULL THEN " + largeBody + " WHEN length(head) + length(task.body) <= ?1 THEN task.body END, " +
		"CASE WHEN head IS NOT NULL AND task.body IS NULL THEN (SELECT seal.chunks FROM seal WHERE seal.task = task.key) END"
	largeBody = "CASE WHEN head IS NOT NULL THEN (SELECT CASE WHEN length(head) + length(seal.body) + " + sealChunks + " <= ?1 THEN seal.body END FROM seal WHERE seal.task = task.key) END"
)

// since lists the columns that later versions of the schema added, and what replaces them in
// a database of an older version.
var since = []struct {
	version int64
	columns *strings.Replacer
}{
	{3, strings.NewReplacer("gone", "0")},
	{6, strings.NewReplacer("task.body", "NULL")},
	{8, strings.NewReplacer("head_size", "NULL", "body_size", "NULL")},
	{9, strings.NewReplacer(entryChunks, "0", sealChunks, "0", blobChunks, "0", "entry.chunks", "NULL", "seal.chunks", "NULL", "blob.chunks", "NULL")},
}

// sql is stmt for a database of any version. A Reader on its own may read an older database,
// which may be migrated between two calls.
func (c *conn) sql(sql string) *stmt {
	if c.version < current.version() {
		// If the version cannot be read, the statement returns a better error.
		c.version, _ = c.pragma("user_version")
		for _, s := range since {
			if c.version < s.version {
				sql = s.columns.Replace(sql)
			}
		}
	}
	return c.stmt(sql)
}

// scanRecord reads the fields of records.
func (c *conn) scanRecord(r *sqlite3.Stmt, fields string, most int64) (rec store.Record, err error) {
	rec.Row = scan(r)
	if fields == columns {
		return rec, nil
	}
	// The size also counts blobs, so it may exceed most even if head and body do not.
	if rec.Size = r.ColumnInt64(14); rec.Size > most || r.ColumnType(16) == sqlite3.NULL {
		return rec, nil
	}
	if r.ColumnType(15) != sqlite3.NULL {
		body := -1
		if fields == allFields {
			body = r.ColumnInt(17)
		}
		rec.Seal, err = sealOf(r.ColumnRawBlob(16), r.ColumnInt(15), body)
		return rec, err
	}
	rec.Seal = &store.Seal{Head: r.ColumnBlob(16, nil)}
	if fields == allFields {
		rec.Seal.Body, err = c.owned(r, 18, 19)
	}
	return rec, err
}

func milli(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// Get implements store.Store.
func (r *Reader) Get(ctx context.Context, k store.Key, most int64) (rec *store.Record, err error) {
	fields := allFields
	if most <= store.RowOnly {
		fields = columns
	}
	err = r.read(ctx, func(c *conn) error {
		rec, err = c.get(k, fields, most)
		return err
	})
	return rec, err
}

// get reads one record.
func (c *conn) get(k store.Key, fields string, most int64) (rec *store.Record, err error) {
	err = c.records(fields, most, named).
		text(k.Tenant).text(k.Owner).text(k.ID).
		each(func(r *sqlite3.Stmt) error {
			found, err := c.scanRecord(r, fields, most)
			rec = &found
			return err
		})
	if err == nil && rec == nil {
		err = store.ErrNotFound
	}
	return rec, err
}

// List implements store.Store. Its cost depends on the size of the page only, not on where
// the page starts or how many tasks match: about 0.1 ms for 50 records. Total is counted if
// an owner or a context has about 1,000 tasks or fewer, and kept in a tally if it has more
// (docs/design/0010-speed.md). Lists of all owners cost more, see query_all.go.
func (r *Reader) List(ctx context.Context, q store.Query) (*store.Page, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	p := &store.Page{}
	err := r.read(ctx, func(c *conn) error {
		return c.snapshot(func() error {
			if q.AnyOwner {
				return c.pageOfAll(&q, p)
			}
			sc, err := c.scopeFor(&q)
			if err != nil {
				return err
			}
			total, err := c.total(sc, &q)
			if p.Total = int(total); err != nil || total == 0 {
				return err
			}
			return c.page(sc, &q, fieldsOf(&q), p)
		})
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// scopeFor returns the scope that a query asks for, or nil if it has no tally.
func (c *conn) scopeFor(q *store.Query) (*scope, error) {
	all, err := c.scopesOf("tenant = ? AND owner = ? AND context = ?", func(st *stmt) {
		st.text(q.Tenant).text(q.Owner).text(q.Context)
	})
	if len(all) == 0 {
		return nil, err
	}
	return all[0], err
}

// total counts the matches of a query for one owner; sc is the query's scope, or nil.
func (c *conn) total(sc *scope, q *store.Query) (n int64, err error) {
	if sc != nil {
		return c.totalOf(sc, q)
	}
	w := where(q)
	n, _, err = w.bind(c.stmt("SELECT count(*) FROM task "+w.sql()), q).one()
	return n, err
}

// page reads one record more than the page may hold, to find out whether there is a next
// page. sc is the query's scope, or nil.
func (c *conn) page(sc *scope, q *store.Query, fields string, p *store.Page) error {
	var st *stmt
	if sc != nil && q.Context != "" && q.State != 0 {
		st = c.pageOfState(sc, q, fields)
	} else {
		w := where(q)
		if q.Before != nil {
			w.and("(updated, id) " + before(q) + " (?, ?)")
		}
		st = w.bind(c.records(fields, q.Most(), "task "+w.sql()+" ORDER BY updated DESC, id DESC LIMIT ?"), q)
	}
	if q.Before != nil {
		st.time(q.Before.Updated).text(q.Before.ID)
	}
	page := store.Fill(q, p)
	return st.int(int64(q.Limit) + 1).each(func(r *sqlite3.Stmt) error {
		rec, err := c.scanRecord(r, fields, q.Most())
		if err == nil && !page.Add(rec) {
			err = errEnough
		}
		return err
	})
}

// pageOfState selects the records of a page for one state within a context that has a scope.
// It uses the scope's members: in the index of contexts, it would have to search many tasks
// for perhaps few of that state. The position and the limit are bound later.
func (c *conn) pageOfState(sc *scope, q *store.Query, fields string) *stmt {
	sql := "member CROSS JOIN task ON task.key = member.task WHERE scope = ? AND kind = ?"
	if !q.Since.IsZero() {
		sql += " AND at >= ?"
	}
	if q.Before != nil {
		sql += " AND (at, name) " + before(q) + " (?, ?)"
	}
	st := c.records(fields, q.Most(), sql+" ORDER BY at DESC, name DESC LIMIT ?").int(sc.key).int(int64(q.State))
	if !q.Since.IsZero() {
		st.time(q.Since)
	}
	return st
}

// before returns the operator that selects what comes after Query.Before in the list of one
// owner. In the list of a later owner, the same position may still come after it.
func before(q *store.Query) string {
	if q.AnyOwner && q.Owner < q.Before.Owner {
		return "<="
	}
	return "<"
}

// filter is the part of a query that its total and its page share.
type filter struct {
	index string
	terms []string
}

// where chooses the index that begins with the filter's columns and continues in the order of
// the list. The SQL names the index, because SQLite would have to guess without statistics.
func where(q *store.Query) *filter {
	f := &filter{index: "task_updated", terms: []string{"tenant = ?", "owner = ?"}}
	if q.State != 0 {
		f.index = "task_state"
		f.and("state = ?")
	}
	if q.Context != "" {
		f.index = "task_context"
		f.and("context = ?")
	}
	if !q.Since.IsZero() {
		f.and("updated >= ?")
	}
	return f
}

func (f *filter) and(term string) { f.terms = append(f.terms, term) }

func (f *filter) sql() string {
	return "INDEXED BY " + f.index + " WHERE " + strings.Join(f.terms, " AND ")
}

// bind binds the filter's arguments in the order of its terms.
func (f *filter) bind(st *stmt, q *store.Query) *stmt {
	return f.bindRest(st.text(q.Tenant).text(q.Owner), q)
}

// bindRest is bind without tenant and owner.
func (f *filter) bindRest(st *stmt, q *store.Query) *stmt {
	if q.State != 0 {
		st.int(int64(q.State))
	}
	if q.Context != "" {
		st.text(q.Context)
	}
	if !q.Since.IsZero() {
		st.time(q.Since)
	}
	return st
}

// Tasks implements store.Store.
func (r *Reader) Tasks(ctx context.Context, after *store.Key, limit int) ([]store.Row, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	sql := "SELECT " + columns + " FROM task INDEXED BY task_name"
	if after != nil {
		sql += " WHERE (tenant, owner, id) > (?, ?, ?)"
	}
	return find(ctx, r, scan, func(c *conn) *stmt {
		st := c.stmt(sql + " ORDER BY tenant, owner, id LIMIT ?")
		if after != nil {
			st.text(after.Tenant).text(after.Owner).text(after.ID)
		}
		return st.int(int64(limit))
	})
}
