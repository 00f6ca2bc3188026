package stored

import (
	"cmp"
	"context"
	"encoding/binary"
	"hash/maphash"
	"sync"

	"github.com/parley-a2a/parley/store"
)

// cache keeps finished tasks as their stored bytes: those that end here, and others once they
// are read. Such tasks never change; they can only be deleted, which goes through the store
// that over returns. Tasks of version 0.1, which may change (see task.MayFollow), are not kept.
// So the cache always agrees with the store.
//
// Each shard is a ring of segments. A new task is written at the end of the ring. If the ring
// outgrows its share, the oldest segment is given up, and those of its tasks that were read
// since they were written are written again. The bytes of a segment never change, so answers
// are written from them without a copy and without a lock, even after the segment is given up.
// Neither segments nor the index have pointers, so the number of tasks does not slow the
// garbage collector down.
//
// Nil keeps nothing.
type cache struct {
	seed   maphash.Seed
	most   int // bytes per shard
	shards [cacheShards]cacheShard
}

type cacheShard struct {
	mu       sync.Mutex
	at       map[uint64]cachePlace // by the hash of the key; the entry has the key
	segments []segment
	first    uint32 // the number of segments[0]
	bytes    int    // of all segments and of the index, about

	// A task read from the store before a deletion must not be put here after it: puts are
	// refused while deletions go on, and if there was one since filling.
	deleting int
	epoch    uint64
}

// cachePlace says where an entry begins, and whether it was read since it was written there.
type cachePlace struct {
	segment, offset uint32
	used            bool
}

// segment is appended to within its capacity only.
type segment []byte

const (
	cacheShards  = 16
	minSegment   = 16 << 10 // of a shard that has little, so that unused memory costs little
	indexEntry   = 48       // size of a place in the index, about
	defaultCache = 64 << 20
)

// newCache returns a cache of most bytes; 0 means the default, less than 0 no cache.
func newCache(most int64) *cache {
	most = cmp.Or(most, defaultCache)
	if most < 0 {
		return nil
	}
	return &cache{seed: maphash.MakeSeed(), most: int(most / cacheShards)}
}

func (c *cache) shardOf(k store.Key) (*cacheShard, uint64) {
	h := maphash.Comparable(c.seed, k)
	return &c.shards[h%cacheShards], h
}

// get returns a task, if it is there.
func (c *cache) get(k store.Key) (f finished, ok bool) {
	if c == nil {
		return f, false
	}
	s, h := c.shardOf(k)
	s.mu.Lock()
	p, ok := s.at[h]
	var entry []byte
	if ok {
		entry = s.segments[p.segment-s.first][p.offset:]
		if !p.used {
			p.used = true
			s.at[h] = p
		}
	}
	s.mu.Unlock()
	if !ok {
		return f, false
	}
	return readEntry(entry, k)
}

// filling is called before a task is read from the store that is to be put here: see
// cacheShard.epoch.
func (c *cache) filling(k store.Key) (epoch uint64) {
	if c == nil {
		return 0
	}
	s, _ := c.shardOf(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.epoch
}

// keep keeps a task that an append has finished: see Reader.Keep.
func (c *cache) keep(a *store.Append) {
	if c == nil || a.Seal == nil {
		return
	}
	f := finishedOf(&store.Record{Row: a.Row, Seal: a.Seal})
	if task := f.encoded(f.body, nil); task != nil && Final(task) {
		c.put(&f, c.filling(f.key))
	}
}

// put keeps a task that was read after filling returned epoch.
func (c *cache) put(f *finished, epoch uint64) {
	if c == nil {
		return
	}
	size := f.size()
	if size > c.most/8 {
		return // it would displace many others
	}
	s, h := c.shardOf(f.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.at[h]; there || s.deleting > 0 || s.epoch != epoch {
		return
	}
	if s.at == nil {
		s.at = map[uint64]cachePlace{}
	}
	s.roomLocked(size, c.most)
	last := &s.segments[len(s.segments)-1]
	s.at[h] = cachePlace{segment: s.first + uint32(len(s.segments)-1), offset: uint32(len(*last))}
	*last = f.append(*last, h)
	s.bytes += indexEntry
}

// roomLocked makes the last segment have room for size bytes.
func (s *cacheShard) roomLocked(size, most int) {
	next := minSegment
	if n := len(s.segments); n > 0 {
		last := s.segments[n-1]
		if cap(last)-len(last) >= size {
			return
		}
		next = 2 * cap(last)
	}
	next = max(size, min(next, most/16))
	var old segment
	for s.bytes+next > most && len(s.segments) > 0 {
		s.giveUpLocked(old, 0) // nothing of it is kept: only tasks of the last one given up may be
		old = s.segments[0]
		s.segments[0] = nil
		s.segments = s.segments[1:]
		s.first++
		s.bytes -= cap(old)
	}
	s.segments = append(s.segments, make(segment, 0, next))
	s.bytes += next
	s.giveUpLocked(old, min(next-size, next/2))
}

// giveUpLocked forgets the tasks of a segment that was taken out, but writes used ones again,
// into at most room bytes of the last segment.
func (s *cacheShard) giveUpLocked(old segment, room int) {
	last := len(s.segments) - 1
	for offset := 0; offset < len(old); {
		h, n := binary.LittleEndian.Uint64(old[offset:]), int(binary.LittleEndian.Uint32(old[offset+8:]))
		if p, ok := s.at[h]; ok && p.segment == s.first-1 && p.offset == uint32(offset) {
			if p.used && n <= room {
				room -= n
				s.at[h] = cachePlace{segment: s.first + uint32(last), offset: uint32(len(s.segments[last]))}
				s.segments[last] = append(s.segments[last], old[offset:offset+n]...)
			} else {
				delete(s.at, h)
				s.bytes -= indexEntry
			}
		}
		offset += n
	}
}

// forget drops tasks that are about to be deleted. Until done is called, their shards accept no
// tasks.
func (c *cache) forget(rows []store.Row) (done func()) {
	each := func(f func(s *cacheShard, h uint64)) {
		for i := range rows {
			s, h := c.shardOf(rows[i].Key)
			s.mu.Lock()
			f(s, h)
			s.mu.Unlock()
		}
	}
	each(func(s *cacheShard, h uint64) {
		s.deleting++
		if _, ok := s.at[h]; ok { // its bytes go with their segment
			delete(s.at, h)
			s.bytes -= indexEntry
		}
	})
	return func() {
		each(func(s *cacheShard, _ uint64) {
			s.deleting--
			s.epoch++
		})
	}
}

// over returns a store that tells the cache of deletions.
func (c *cache) over(st store.Store) store.Store {
	if c == nil {
		return st
	}
	return &cachedStore{st, c}
}

type cachedStore struct {
	store.Store
	cache *cache
}

func (s *cachedStore) Delete(ctx context.Context, rows []store.Row) (int, error) {
	defer s.cache.forget(rows)()
	return s.Store.Delete(ctx, rows)
}
