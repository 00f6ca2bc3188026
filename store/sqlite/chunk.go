package sqlite

import (
	"bytes"
	"errors"
	"iter"
	"slices"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// A large append takes several commits, so that small ones do not wait for all of it: its
// values are written first, in chunks, and the append then refers to them. Until the append
// is committed, each value is noted as staged, so values left by a crash or a failed append
// can be found and removed. On a disk that is nearly full, a value takes space that small
// appends could have used, until it runs out of space itself.
//
// The table staged is all that the database knows of a value that nothing refers to. The
// writer only has to remember which of the values there get no more chunks: see release.

// maxChunk is the approximate size of a chunk in bytes; an append above it is large. Not
// constant, for tests.
var maxChunk = 128 << 10

const (
	valueKeys = 1 << 16 // of the chunks of one value, as in the schema
	sweepMost = 64      // chunks removed in one transaction
)

var errChunks = errors.New("chunks of a large value are missing")

// chunked says which values of an append are in chunks: each number is the key of a value's
// first chunk; 0 means that the append itself has the value.
type chunked struct {
	log, body int64
	blobs     []int64 // in the order of the append's blobs

	err error // error of a chunk; owned by the writer
}

// Append implements store.Store.
func (s *Store) Append(a *store.Append, done func(error)) {
	w, size := work{append: a}, a.Size()
	if size > maxChunk && size <= maxAppend && a.Validate() == nil {
		w.chunks = &chunked{blobs: make([]int64, len(a.Blobs))}
		s.staging.Lock()
		size -= s.stage(a, w.chunks)
		s.staging.Unlock()
	}
	s.group.Add(w, &a.Row.Key, size, done)
}

// stage queues the large values of an append as chunks, and returns how many bytes of the
// append they are. It assigns all keys before it queues the first chunk, because one failed
// chunk ends all values of the append. The caller holds s.staging.
func (s *Store) stage(a *store.Append, k *chunked) (size int) {
	type value struct {
		key    *int64
		blob   *store.Blob
		chunks iter.Seq[[]byte]
	}
	var large []value
	take := func(key *int64, size int, b *store.Blob, chunks iter.Seq[[]byte]) {
		if size > max(maxChunk/32, smallBody) {
			s.lastValue += valueKeys
			*key = s.lastValue
			large = append(large, value{key, b, chunks})
		}
	}
	log := 0
	for i := range a.Entries {
		log += len(a.Entries[i].Body)
	}
	take(&k.log, log, nil, store.PackParts(a.Entries, maxChunk))
	if a.Seal != nil {
		take(&k.body, len(a.Seal.Body), nil, slices.Chunk(a.Seal.Body, maxChunk))
	}
	for i := range a.Blobs {
		b := &a.Blobs[i]
		take(&k.blobs[i], len(b.Data), b, slices.Chunk(b.Data, maxChunk))
	}
	for _, v := range large {
		first := *v.key
		at := first
		for data := range v.chunks {
			w := work{chunks: k, change: k.chunk(v.key, at, at == first, v.blob, data)}
			s.group.Add(w, &a.Row.Key, len(data), func(error) {})
			size += len(data)
			at++
		}
	}
	return size
}

// chunk returns the change that writes one chunk of a value; first says whether it is the
// first one. The change does nothing if the value is a blob that is already stored, or if an
// earlier chunk failed.
func (k *chunked) chunk(value *int64, at int64, first bool, b *store.Blob, data []byte) func(*conn) (bool, error) {
	return func(c *conn) (changed bool, err error) {
		if k.err != nil || *value == 0 {
			return false, nil
		}
		defer func() { k.err = err }() // the append may be in the same batch
		if first && b != nil {
			_, there, err := c.stmt("SELECT key FROM blob WHERE hash = ?").text(b.Hash).one()
			if there || err != nil {
				*value = 0
				return false, err
			}
		}
		if first {
			if err := c.stmt("INSERT INTO staged (value) VALUES (?)").int(at).exec(); err != nil {
				return false, err
			}
		}
		return true, c.stmt("INSERT INTO chunk (key, data) VALUES (?, ?)").int(at).blob(data).exec()
	}
}

// inRow stands for an append that has all its values itself.
var inRow chunked

func (k *chunked) blob(i int) int64 {
	if k.blobs == nil {
		return 0
	}
	return k.blobs[i]
}

// value binds a value and the key of its chunks (0: none). A value in chunks is no longer
// staged afterwards.
func (s *stmt) value(c *conn, v []byte, chunks int64) *stmt {
	if chunks == 0 {
		return s.blob(v).null()
	}
	err := c.stmt("DELETE FROM staged WHERE value = ?").int(chunks).exec()
	if err == nil && c.Changes() == 0 {
		err = errChunks
	}
	if s.err == nil {
		s.err = err
	}
	return s.blob(nil).int(chunks)
}

// release is called with the outcome of each item. When an append is over, in whatever way,
// or one of its chunks failed, none of its values gets more chunks: those still staged are
// waste. A value that the append refers to is no longer staged, also if its COMMIT failed but
// happened nevertheless.
func (s *Store) release(w work, err error) {
	k := w.chunks
	if k == nil || w.append == nil && err == nil {
		return
	}
	if w.append == nil {
		k.err = err
	}
	s.unused = append(append(s.unused, k.log, k.body), k.blobs...)
}

// sweepSome removes a part of the unused values, and the next commits remove more.
func (s *Store) sweepSome() {
	if len(s.unused) == 0 {
		return
	}
	var err [1]error
	s.transact([]work{{change: s.sweep}}, err[:])
	if err[0] == nil {
		s.sweepOn()
	}
}

// sweep removes some chunks of one unused value that is still staged.
func (s *Store) sweep(c *conn) (changed bool, err error) {
	for len(s.unused) > 0 {
		value := s.unused[0]
		_, there, err := c.stmt("SELECT value FROM staged WHERE value = ?").int(value).one()
		if err != nil {
			return false, err
		}
		if !there {
			s.unused = s.unused[1:]
			continue
		}
		err = c.stmt("DELETE FROM chunk WHERE key IN (SELECT key FROM chunk WHERE key >= ? AND key < ? LIMIT ?)").
			int(value).int(value + valueKeys).int(sweepMost).exec()
		if err == nil && c.Changes() < sweepMost {
			err = c.stmt("DELETE FROM staged WHERE value = ?").int(value).exec()
		}
		return true, err
	}
	return false, nil
}

// sweepOn makes the next commit remove more unused values, if there are any.
func (s *Store) sweepOn() {
	if len(s.unused) > 0 {
		s.group.Add(work{change: func(*conn) (bool, error) { return false, nil }}, nil, 0, func(error) {})
	}
}

// staged returns the values that a crash left behind, and the highest key of a value.
func (c *conn) staged() (left []int64, highest int64, err error) {
	if left, err = collect(c.stmt("SELECT value FROM staged"), scanNumber); err != nil {
		return nil, 0, err
	}
	// A staged value may have no chunk left, because its sweep may have been interrupted.
	highest, _, err = c.stmt("SELECT max(key) FROM (SELECT max(key) AS key FROM chunk UNION ALL SELECT max(value) FROM staged)").one()
	return left, highest / valueKeys * valueKeys, err
}

// value returns the value in a column or, if the column chunks is not NULL, the value in the
// chunks that begin with that key. If own is true, the bytes belong to the caller; otherwise
// they are valid until the row ends.
func (c *conn) value(r *sqlite3.Stmt, column, chunks int) (b []byte, own bool, err error) {
	if r.ColumnType(chunks) == sqlite3.NULL {
		b = r.ColumnRawBlob(column)
		c.grow(len(b))
		return b, false, nil
	}
	first := r.ColumnInt64(chunks)
	size, there, err := c.stmt("SELECT sum(length(data)) FROM chunk WHERE key >= ? AND key < ?").int(first).int(first + valueKeys).one()
	if err == nil && !there {
		err = errChunks
	}
	if err != nil {
		return nil, false, err
	}
	b = make([]byte, 0, size)
	c.grow(int(size)) // the connection's cache has the pages of the chunks
	err = c.stmt("SELECT data FROM chunk WHERE key >= ? AND key < ? ORDER BY key").int(first).int(first + valueKeys).
		each(func(r *sqlite3.Stmt) error { b = append(b, r.ColumnRawBlob(0)...); return nil })
	return b, true, err
}

// owned is value, copied if necessary so that the caller may keep it.
func (c *conn) owned(r *sqlite3.Stmt, column, chunks int) ([]byte, error) {
	b, own, err := c.value(r, column, chunks)
	if !own {
		b = bytes.Clone(b)
	}
	return b, err
}

// The SQL for the number of bytes of a value that are in chunks.
const (
	entryChunks = "iif(entry.chunks IS NULL, 0, " + sizeOfChunks + "entry.chunks AND chunk.key < entry.chunks + 65536))"
	sealChunks  = "iif(seal.chunks IS NULL, 0, " + sizeOfChunks + "seal.chunks AND chunk.key < seal.chunks + 65536))"
	blobChunks  = "iif(blob.chunks IS NULL, 0, " + sizeOfChunks + "blob.chunks AND chunk.key < blob.chunks + 65536))"

	sizeOfChunks = "(SELECT sum(length(chunk.data)) FROM chunk WHERE chunk.key >= "
)
