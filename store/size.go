package store

import (
	"context"
	"iter"
	"math"
)

// No read returns more bytes than its caller asked for: a record comes without
// its seal if that is too much, a page of records ends by Query.MaxBytes, and one
// of a log by PageBytes. So a caller can make room first and then read.

// Limits for Get on how much of a task's seal it reads, besides any number of bytes.
const (
	RowOnly = 0             // nothing, not even its size
	Whole   = math.MaxInt64 // all, however large
)

// PageBytes is how many bytes of bodies a page of a log has at most. A page may be larger
// by one entry.
const PageBytes = 1 << 20

// Most is how many bytes a record of q may have to come with its seal.
func (q *Query) Most() int64 {
	if q.MaxBytes == 0 {
		return Whole
	}
	return q.MaxBytes
}

// Filler fills a page up to the bounds of its query. It is for drivers.
type Filler struct {
	q    *Query
	p    *Page
	size int64
}

// Fill returns a Filler of an empty page.
func Fill(q *Query, p *Page) *Filler { return &Filler{q: q, p: p} }

// Add adds the next record that q selects and returns true. If the page has no
// room for it, Add sets Page.More instead: the page is complete.
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

// EntryPage collects a page of Entries. It is for drivers.
type EntryPage struct {
	Entries []Entry

	after int64
	limit int // 0: none
	size  int // of the bodies
	most  int
}

// NewEntryPage returns an empty page of the entries that Entries is asked for.
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

// Full reports whether the log may have more entries after a page that Entries returned
// for limit.
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

// EachEntry yields the entries of a task with Seq > after, up to last or, if the
// log ends before that, to its end; Whole is the end, wherever it is. It holds one
// page at a time. Each page is read by itself, so a task that is deleted meanwhile
// just ends: callers that need the whole of it count. It ends after the first
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
