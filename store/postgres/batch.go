package postgres

import (
	"encoding/binary"
	"strconv"
	"strings"
	"sync"
)

// part is one table's share of the statement that writes a batch: what the statement does
// with the rows in a table of arguments.
type part struct {
	name    string // of the common table expression
	columns string // of the rows; each is "name type"
	sql     string // the SQL; in it, FROM rows stands for the arguments
	counted bool   // it must write all of its rows
}

// The parts, as indexes of batch.tables, in the order in which they are written: tallies come
// last, because other transactions wait longest for them.
const (
	newTasks = iota
	oldTasks
	newReceipts
	newEntries
	newBlobs
	newUses
	newPushes
	newLetters
	newTallies
	numParts
)

const (
	taskColumns = "context bytea, state integer, updated bigint, created bigint, last bigint, active boolean, node bytea, " +
		"epoch bigint, lost integer, turn bigint, attempt integer, head bytea, body bytea"
	receiptColumns = "tenant bytea, owner bytea, name bytea, time bigint, until bigint, digest bytea, task bigint, context bytea, seq bigint, answer bytea"
	pushColumns    = "key bigint, task bigint, id bytea, host bytea, body bytea, created bigint, node bytea, live boolean, cursor bigint, tries integer, " +
		"since bigint, due bigint, reason bytea"
)

// parts are all parts. If a row does not exist as the append expects, fewer rows than given
// are written, and the batch is rolled back. Existing blobs are updated too, which locks
// them: a deletion of the last task that refers to a blob also locks the blob first, and then
// checks for references in another statement.
var parts = [numParts]part{
	newTasks: {name: "t", columns: "key bigint, tenant bytea, owner bytea, id bytea, " + taskColumns, counted: true,
		sql: "INSERT INTO parley.task ($names) SELECT * FROM rows ON CONFLICT (tenant, owner, id) DO NOTHING RETURNING 1"},
	oldTasks: {name: "u", columns: "key bigint, after bigint, was bigint, " + taskColumns, counted: true,
		sql: "UPDATE parley.task AS t SET context = n.context, state = n.state, updated = n.updated, created = n.created, last = n.last, active = n.active, node = n.node, " +
			"epoch = n.epoch, lost = n.lost, turn = n.turn, attempt = n.attempt, head = n.head, body = n.body " +
			"FROM rows WHERE t.key = n.key AND t.last = n.after AND t.epoch = n.was RETURNING 1"},
	newReceipts: {name: "r", columns: receiptColumns, counted: true,
		sql: "INSERT INTO parley.receipt AS r ($names) SELECT * FROM rows ON CONFLICT (tenant, owner, name) DO UPDATE SET time = excluded.time, until = excluded.until, " +
			"digest = excluded.digest, task = excluded.task, context = excluded.context, seq = excluded.seq, answer = excluded.answer WHERE r.until <= excluded.time RETURNING 1"},
	newEntries: {name: "e", columns: "task bigint, last bigint, first bigint, body bytea",
		sql: "INSERT INTO parley.entry ($names) SELECT * FROM rows"},
	newBlobs: {name: "b", columns: "hash bytea, data bytea",
		sql: "INSERT INTO parley.blob ($names) SELECT * FROM rows ON CONFLICT (hash) DO UPDATE SET hash = excluded.hash"},
	newUses: {name: "c", columns: "task bigint, hash bytea",
		sql: "INSERT INTO parley.blob_task ($names) SELECT * FROM rows ON CONFLICT (task, hash) DO NOTHING"},
	newPushes: {name: "p", columns: pushColumns,
		sql: "INSERT INTO parley.push ($names) SELECT * FROM rows " + overPush + " RETURNING key, task, id"},
	newLetters: {name: "l", columns: "task bigint, id bytea, seq bigint, time bigint, tries integer, reason bytea, again boolean",
		sql: "INSERT INTO parley.letter (push, seq, time, tries, reason, again) SELECT p.key, n.seq, n.time, n.tries, n.reason, n.again FROM rows " +
			"JOIN p ON p.task = n.task AND p.id = n.id " +
			overLetter},
	newTallies: {name: "y", columns: "scope bigint, state integer, width smallint, piece bigint, n bigint, slot smallint",
		sql: "INSERT INTO parley.tally AS y (scope, state, width, piece, n, slot) SELECT * FROM rows " +
			"ON CONFLICT (scope, state, width, piece, slot) DO UPDATE SET n = y.n + excluded.n"},
}

// kindOf maps the names of column types to kinds.
var kindOf = map[string]kind{"boolean": booleans, "bytea": byteas, "smallint": smallints, "integer": integers, "bigint": bigints}

// table returns an empty table for a part.
func (p *part) table() *table {
	var kinds []kind
	for c := range strings.SplitSeq(p.columns, ", ") {
		_, kind, _ := strings.Cut(c, " ")
		kinds = append(kinds, kindOf[kind])
	}
	return newTable(kinds...)
}

// text returns the part as SQL, with its arguments numbered from first.
func (p *part) text(first int) (sql string, next int) {
	var names, arrays []string
	next = first
	for c := range strings.SplitSeq(p.columns, ", ") {
		name, kind, _ := strings.Cut(c, " ")
		names = append(names, name)
		arrays = append(arrays, "$"+strconv.Itoa(next)+"::"+kind+"[]")
		next++
	}
	columns := strings.Join(names, ", ")
	return strings.NewReplacer(
		"($names)", "("+columns+")",
		"FROM rows", "FROM unnest("+strings.Join(arrays, ", ")+") AS n ("+columns+")",
	).Replace(p.sql), next
}

// shape says which parts a batch has, with one bit each.
type shape uint32

func (s shape) has(part int) bool { return s&(1<<part) != 0 }

var statements sync.Map // shape to SQL text

// statement returns the statement that writes a batch of a shape. It divides by zero unless
// each counted part has written all of its rows, and the version of the scopes equals its
// last argument.
func (s shape) statement() string {
	if text, ok := statements.Load(s); ok {
		return text.(string)
	}
	var with, checks []string
	next := 1
	for i := range parts {
		if p := &parts[i]; s.has(i) {
			if p.counted {
				_, kind, _ := strings.Cut(p.columns, " ")
				kind, _, _ = strings.Cut(kind, ",")
				checks = append(checks, "(SELECT count(*) FROM "+p.name+") = cardinality("+param(next)+"::"+kind+"[])")
			}
			var sql string
			sql, next = p.text(next)
			with = append(with, p.name+" AS ("+sql+")")
		}
	}
	if !s.has(noTallies) {
		checks = append(checks, "(SELECT last_value FROM parley.scope_change) = "+param(next)+"::bigint")
	}
	text := "WITH " + strings.Join(with, ", ") + " SELECT 1"
	if len(checks) > 0 {
		text += " / CASE WHEN " + strings.Join(checks, " AND ") + " THEN 1 ELSE 0 END"
	}
	statements.Store(s, text)
	return text
}

// noTallies is the bit of a shape that does without scopes.
const noTallies = numParts

// batch holds the rows that one transaction writes. No two of them affect the same row of the
// database.
type batch struct {
	tables [numParts]*table
	args   arguments
	scopes int64 // version of the scopes; 0: there are none
}

func newBatch() *batch {
	b := &batch{}
	for i := range parts {
		b.tables[i] = parts[i].table()
	}
	return b
}

func (b *batch) reset() {
	for _, t := range b.tables {
		t.reset()
	}
	b.args.reset()
}

// ready sets the arguments and returns the statement's shape.
func (b *batch) ready() (s shape) {
	for i, t := range b.tables {
		if t.rows > 0 {
			s |= 1 << i
			b.args.add(t)
		}
	}
	if b.scopes == 0 {
		return s | 1<<noTallies
	}
	b.args.one(bigints.element, binary.BigEndian.AppendUint64(nil, uint64(b.scopes)))
	return s
}
