package stored

import (
	"cmp"
	"context"
	"encoding/binary"
	"hash/maphash"
	"sync"

	"github.com/parley-a2a/parley/store"
)

// cache keeps finished tasks, those that end here and others once they were read,
// as the bytes that the store has of them. Such tasks change no more, but for
// their deletion, which goes through the store that over returns; those of version
// 0.1, which may (see mayFollow), are not kept. So what is found is what the store
// would say.
//
// It is a ring of segments in each of some shards: what is new is written at its
// end, and when it outgrows its share the oldest segment is given up, but for
// those of its tasks that were asked for since they were written, which are
// written again. Bytes of a segment never change, so that answers are written
// from them without a copy and without a lock, also after the segment is given
// up. Neither segments nor the index have pointers: the garbage collector does
// not care how many tasks there are.
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

	// A task read from the store before a deletion must not be put here after
	// it: fills are refused while deletions go on, and if there was one since.
	deleting int
	epoch    uint64
}

// cachePlace is where an entry begins, and whether it was asked for since it was
// written there.
type cachePlace struct {
	segment, offset uint32
	used            bool
}

// segment is appended to within its capacity only.
type segment []byte

const (
	cacheShards  = 16
	minSegment   = 16 << 10 // of a shard that has little, so that what is not used costs little
	indexEntry   = 48       // what a place in the index takes, about
	defaultCache = 64 << 20
)

// newCache returns a cache of so many bytes; 0 is the default, less means no
// cache.
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

// filling is asked for before a task is read from the store, to be put here: see
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

// put keeps a task that was read since filling said epoch.
func (c *cache) put(f *finished, epoch uint64) {
	if c == nil {
		return
	}
	size := f.size()
	if size > c.most/8 {
		return // many others would have to go for it
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
		s.giveUpLocked(old, 0) // of those that have to go the last one may keep some
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

// giveUpLocked forgets a segment that was taken out, but writes what is used of it again,
// into at most room bytes of the last one.
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

// forget drops tasks that are about to be deleted, and refuses them and others
// until done is called.
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

// over returns a store that tells the cache what is deleted.
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
