package sqlite

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// Tasks that ended before version 8 of the schema have separate rows for their seal and their
// log. After the start they are packed as piece.go describes, in the order of their keys and,
// like deletions, in small transactions: an append waits for at most one. The progress is
// stored in the same transactions, so the next start continues there.

const (
	packTasks  = 16   // per transaction
	packLook   = 4096 // keys read before the next pause
	packMost   = 512  // entries of a task that is packed
	packShare  = 4    // a pause is this many times as long as the work before it
	packPause  = 20 * time.Millisecond
	packAtLast = time.Second // longest extra pause while there are commits
	packAgain  = time.Minute // after an error
)

// packAfter is the delay between Open and the first packing. Not constant, for tests.
var packAfter = time.Second

// packing is the progress of packing old tasks: keys up to at are done. end was the last key
// when packing began; later tasks need no packing.
type packing struct{ at, end int64 }

// packingName is where the progress is kept. It is hidden from Kept.
const packingName = "sqlite packing"

func (c *conn) packing() (p packing, begun bool, err error) {
	b, err := c.kept(packingName)
	if b == nil || err != nil {
		return p, false, err
	}
	if _, err := fmt.Sscan(string(b), &p.at, &p.end); err != nil {
		return p, false, fmt.Errorf("read how far old tasks are packed: %w", err)
	}
	return p, true, nil
}

// Packing returns the progress of packing tasks of an older version, as keys of tasks done
// and in total; 0 of 0 means that it has not begun. It is for operators.
func (r *Reader) Packing(ctx context.Context) (done, of int64, err error) {
	err = r.read(ctx, func(c *conn) error {
		p, _, err := c.packing()
		done, of = p.at, p.end
		return orNone(err)
	})
	return done, of, err
}

func (c *conn) keepPacking(p packing) error {
	return c.stmt("INSERT INTO kept (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value").
		text(packingName).blob(fmt.Append(nil, p.at, p.end)).exec()
}

// startPacking starts to pack old tasks, if there may be any. s.packer is closed when that
// ends.
func (s *Store) startPacking(log *slog.Logger) error {
	p, begun, err := s.writer.packing()
	if err != nil {
		return err
	}
	if !begun {
		p = packing{0, s.lastKey}
	}
	s.packer = make(chan struct{})
	if p.at >= p.end {
		close(s.packer)
		return nil
	}
	go func() {
		defer close(s.packer)
		s.packAll(p, log)
	}()
	return nil
}

// packAll packs tasks until all are packed or the store closes.
func (s *Store) packAll(p packing, log *slog.Logger) {
	begun, tasks := time.Now(), 0
	for wait := packAfter; s.leave(wait); {
		from := time.Now()
		n, err := s.pack(&p)
		wait = max(packPause, packShare*time.Since(from))
		if n > 0 && tasks == 0 {
			log.Info("sqlite: tasks of an older version are packed in the background")
		}
		tasks += n
		switch {
		case err != nil:
			log.Error("sqlite: tasks of an older version could not be packed; it is tried again", "error", err)
			wait = packAgain
		case p.at >= p.end:
			if tasks > 0 {
				log.Info("sqlite: tasks of an older version are packed", "tasks", tasks, "took", time.Since(begun).Round(time.Second))
			}
			return
		}
	}
}

// leave pauses for wait or, while other commits happen, longer. It returns false if the store
// closes.
func (s *Store) leave(wait time.Duration) bool {
	for left := max(packAtLast, wait); ; {
		commits := s.commits.Load()
		select {
		case <-time.After(wait):
		case <-s.over:
			return false
		}
		if left -= wait; left <= 0 || s.commits.Load() == commits {
			return true
		}
	}
}

// sealedApart selects the sealed tasks that may become a piece.
const sealedApart = "active = 0 AND head IS NOT NULL AND head_size IS NULL AND last <= ? AND length(head) <= ?"

// pack packs the next tasks and returns how many it packed.
func (s *Store) pack(p *packing) (n int, err error) {
	ctx, next := context.Background(), *p
	var keys []int64
	err = s.read(ctx, func(c *conn) error {
		next.at = min(p.at+packLook, p.end)
		keys, err = collect(c.stmt("SELECT key FROM task WHERE key > ? AND key <= ? AND "+sealedApart+" ORDER BY key LIMIT ?").
			int(p.at).int(next.at).int(packMost).int(maxClear).int(packTasks), scanNumber)
		if len(keys) == packTasks {
			next.at = keys[len(keys)-1]
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	if len(keys) > 0 || next.at == next.end {
		err = s.change(ctx, "pack", func(c *conn) (changed bool, err error) {
			n = 0
			for _, key := range keys {
				is, err := s.packTask(c, key)
				if err != nil {
					return false, err
				}
				if is {
					n++
				}
			}
			return n > 0 || next.at == next.end, c.keepPacking(next)
		})
	}
	if err != nil {
		return 0, err
	}
	*p = next
	return n, nil
}

// packTask packs a task, unless it has changed or is too large.
func (s *Store) packTask(c *conn, key int64) (is bool, err error) {
	const size = "(SELECT sum(length(entry.body)) FROM entry WHERE entry.task = task.key)"
	// Values in chunks stay in chunks, whatever their size.
	const inRows = " AND NOT EXISTS (SELECT 1 FROM entry WHERE entry.task = task.key AND entry.chunks IS NOT NULL) AND NOT EXISTS (SELECT 1 FROM seal WHERE seal.task = task.key AND seal.chunks IS NOT NULL)"
	var last int64
	head, body := -1, 0
	err = c.stmt("SELECT last, head, coalesce(task.body, (SELECT seal.body FROM seal WHERE seal.task = task.key)) FROM task WHERE key = ? AND " + sealedApart +
		" AND length(head) + coalesce(length(task.body), (SELECT length(seal.body) FROM seal WHERE seal.task = task.key)) + " + size + " <= ?" + inRows).
		int(key).int(packMost).int(maxClear).int(maxClear).
		each(func(r *sqlite3.Stmt) error {
			last = r.ColumnInt64(0)
			s.clear = append(s.clear[:0], r.ColumnRawBlob(1)...)
			head = len(s.clear)
			s.clear = append(s.clear, r.ColumnRawBlob(2)...)
			body = len(s.clear) - head
			return nil
		})
	if head < 0 || err != nil {
		return false, err
	}
	s.clear = binary.AppendUvarint(s.clear, 1)
	end := int64(0)
	err = c.stmt("SELECT first, last, body FROM entry WHERE task = ? ORDER BY last").int(key).
		each(func(r *sqlite3.Stmt) error {
			if end >= 0 && r.ColumnInt64(0) == end+1 {
				end = r.ColumnInt64(1)
			} else {
				end = -1
			}
			s.clear = append(s.clear, r.ColumnRawBlob(2)...) // each row has framed entries, so they can be concatenated
			return nil
		})
	if end != last || err != nil { // leave a damaged log as it is
		return false, err
	}
	piece := s.squeeze()
	if piece == nil {
		return false, nil
	}
	err = c.stmt("UPDATE task SET head = ?, body = NULL, head_size = ?, body_size = ? WHERE key = ?").
		blob(piece).int(int64(head)).int(int64(body)).int(key).exec()
	if err == nil {
		err = c.stmt("DELETE FROM entry WHERE task = ?").int(key).exec()
	}
	if err == nil {
		err = c.stmt("DELETE FROM seal WHERE task = ?").int(key).exec()
	}
	return true, err
}
