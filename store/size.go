package store

import (
	"context"
	"iter"
	"math"
)

// No read returns more bytes than its caller asked for: a record comes without its seal if
// the seal is too large, Query.MaxBytes ends a page of records, and PageBytes ends a page of
// a log. So a caller can reserve memory first and then read.

// Special limits for Get on how many bytes of a task's seal it reads.
const (
	RowOnly = 0             // no seal, and not even its size
	Whole   = math.MaxInt64 // all of it, however large
)

// PageBytes limits the bodies in a page of a log, in bytes. The last entry of a page may
// exceed it.
const PageBytes = 1 << 20

// Most returns the largest size, in bytes, of a record that q returns with its seal.
func (q *Query) Most() int64 {
	if q.MaxBytes == 0 {
		return Whole
	}
	return q.MaxBytes
}

// Filler fills a page up to the limits of its query. It is for drivers.
type Filler struct {
	q    *Query
	p    *Page
	size int64
}

// Fill returns a Filler for an empty page.
func Fill(q *Query, p *Page) *Filler { return &Filler{q: q, p: p} }

// Add adds the next record that q selects and returns true. If the page has no space for it,
// Add sets Page.More and returns false: the page is complete.
func (f *Filler) Add(r Record) bool {
	n := len(f.p.Records)
	if n == f.q.Limit || n > 0 && r.Size > f.q.Most()-f.size {
		f.p.More = true
		return false
	}
	f.size += r.Size
	f.p.Records = append(f.p.Records, r)
	return true
}

// EntryPage collects a page for Entries. It is for drivers.
type EntryPage struct {
	Entries []Entry

	after int64
	limit int // 0: no limit
	size  int // of the bodies
	most  int
}

// NewEntryPage returns an empty page with the arguments of a call of Entries.
func NewEntryPage(after int64, limit int) *EntryPage {
	return &EntryPage{after: after, limit: max(limit, 0), most: PageBytes}
}

// Full reports whether the page is complete, though more may follow.
func (p *EntryPage) Full() bool {
	return p.size >= p.most || p.limit > 0 && len(p.Entries) >= p.limit
}

func (p *EntryPage) add(e Entry) {
	p.size += len(e.Body)
	p.Entries = append(p.Entries, e)
}

// Full reports whether the log may have more entries after a page that Entries returned for
// this limit.
func Full(page []Entry, limit int) bool {
	p := EntryPage{limit: max(limit, 0), most: PageBytes}
	for i := range page {
		p.size += len(page[i].Body)
	}
	p.Entries = page
	return p.Full()
}

// EntryReader is the part of a Log that EachEntry reads.
type EntryReader interface {
	Entries(ctx context.Context, k Key, after int64, limit int) ([]Entry, error)
}

// EachEntry yields the entries of a task with Seq > after, up to last or to the end of the
// log, whichever comes first; with Whole as last, up to the end. It holds one page at a time
// in memory. Each page is a separate read, so if the task is deleted in the meantime the
// sequence just ends: callers that need all entries must count them. It ends after the first
// error.
func EachEntry(ctx context.Context, s EntryReader, k Key, after, last int64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for after < last {
			limit := 0
			if last < Whole {
				limit = int(last - after)
			}
			page, err := s.Entries(ctx, k, after, limit)
			if err != nil {
				yield(Entry{}, err)
				return
			}
			more := Full(page, limit)
			for i := range page {
				after = page[i].Seq
				if !yield(page[i], nil) {
					return
				}
			}
			if !more {
				return
			}
		}
	}
}
