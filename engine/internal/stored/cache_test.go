package stored

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

func cachedTask(i, size int) finished {
	return finished{
		key:     store.Key{Tenant: fmt.Sprint(i % 3), Owner: fmt.Sprint(i % 5), ID: fmt.Sprint("task ", i)},
		context: fmt.Sprint("c", i), state: a2a.TaskState(1 + i%8), updated: time.UnixMilli(int64(i)).UTC(),
		head: []byte(strings.Repeat("h", size)), body: fmt.Append(nil, "body ", i),
	}
}

func (f *finished) String() string {
	return fmt.Sprint(f.key, f.context, f.state, f.updated, string(f.head), string(f.body))
}

func (c *cache) taken() (bytes, entries int) {
	for i := range c.shards {
		s := &c.shards[i]
		bytes += s.bytes
		entries += len(s.at)
	}
	return bytes, entries
}

// The cache returns what was put there, and stays within its bound.
func TestCacheIsBounded(t *testing.T) {
	const most = 1 << 20
	c := newCache(most)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 20_000 {
		f := cachedTask(i, r.IntN(1000))
		c.put(&f, c.filling(f.key))
		if got, ok := c.get(f.key); !ok || got.String() != f.String() {
			t.Fatalf("%d: got %s, %v", i, got.String(), ok)
		}
		if bytes, _ := c.taken(); bytes > most+most/cacheShards {
			t.Fatalf("%d bytes after %d tasks", bytes, i)
		}
		if old := cachedTask(r.IntN(i+1), 0); i%2 == 0 {
			if got, ok := c.get(old.key); ok && string(got.body) != string(old.body) {
				t.Fatalf("task %s has %s", old.key.ID, got.body)
			}
		}
	}
	bytes, n := c.taken()
	if n < most/1500 {
		t.Errorf("%d tasks in %d bytes", n, bytes)
	}
	whole := 0
	for i := range c.shards {
		s := &c.shards[i]
		for h, p := range s.at {
			if got := s.segments[p.segment-s.first][p.offset:]; len(got) < entryTexts {
				t.Fatalf("%x leads to %d bytes", h, len(got))
			}
			whole += indexEntry
		}
		for _, seg := range s.segments {
			whole += cap(seg)
		}
	}
	if whole != bytes {
		t.Errorf("%d bytes are counted, %d are there", bytes, whole)
	}
}

// Tasks that are asked for stay when others go, as many as half a segment of their
// shard has room for: three.
func TestCacheKeepsWhatIsUsed(t *testing.T) {
	c := newCache(1 << 20)
	var asked []store.Key
	in := map[*cacheShard]int{} // how many of asked
	for i := range 20_000 {
		f := cachedTask(i, 400)
		c.put(&f, c.filling(f.key))
		if s, _ := c.shardOf(f.key); in[s] < 3 {
			in[s]++
			asked = append(asked, f.key)
		}
		for _, key := range asked {
			c.get(key)
		}
	}
	hot := 0
	for _, key := range asked {
		if _, ok := c.get(key); ok {
			hot++
		}
	}
	if len(asked) != 3*cacheShards || hot != len(asked) {
		t.Errorf("%d of %d tasks that are always asked for are there", hot, len(asked))
	}
}

func TestCacheThatIsNone(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	for _, c := range []*cache{nil, newCache(-1), newCache(-5)} {
		f := cachedTask(1, 1)
		c.put(&f, c.filling(f.key))
		c.keep(&store.Append{})
		if _, ok := c.get(f.key); ok || c.over(st) != store.Store(st) {
			t.Error("it keeps something")
		}
	}
	if newCache(0) == nil {
		t.Error("by default there is none")
	}
	small := newCache(cacheShards * 100)
	for _, size := range []int{10, 1000} {
		f := cachedTask(size, size)
		small.put(&f, small.filling(f.key))
		if _, n := small.taken(); n != 0 {
			t.Errorf("a task of %d bytes is kept where there is not room for it", size)
		}
	}
}

// A task read before a deletion does not come back after it.
func TestCacheRefusesWhatWasDeletedMeanwhile(t *testing.T) {
	c := newCache(0)
	f := cachedTask(1, 10)
	rows := []store.Row{{Key: f.key}}
	before := c.filling(f.key)
	done := c.forget(rows)
	during := c.filling(f.key)
	c.put(&f, during)
	if _, ok := c.get(f.key); ok {
		t.Error("it is put there while it is deleted")
	}
	done()
	for _, epoch := range []uint64{before, during} {
		c.put(&f, epoch)
		if _, ok := c.get(f.key); ok {
			t.Error("it is put there as it was before the deletion")
		}
	}
	c.put(&f, c.filling(f.key))
	if _, ok := c.get(f.key); !ok {
		t.Error("a new one is not kept")
	}
	c.forget(rows)()
	if _, ok := c.get(f.key); ok {
		t.Error("it is there after it was deleted")
	}
}

// Reads and deletions, all at once: once a deletion has returned, no reader finds the task.
func TestCacheAtOnce(t *testing.T) {
	st := &fakeFinished{there: map[store.Key]int{}}
	c := newCache(256 << 10)
	over := c.over(st)
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 3))
			for range 5000 {
				i := r.IntN(200)
				f := cachedTask(i, 300)
				if r.IntN(20) == 0 {
					if _, err := over.Delete(context.Background(), []store.Row{{Key: f.key}}); err != nil {
						t.Error(err)
					}
					continue
				}
				least := st.age(f.key)
				got, ok := c.get(f.key)
				if !ok {
					epoch := c.filling(f.key)
					f.head = fmt.Append(nil, st.age(f.key))
					c.put(&f, epoch)
					continue
				}
				var age int
				fmt.Sscan(string(got.head), &age)
				if age < least {
					t.Errorf("%s is of before its deletion: %d, %d", f.key.ID, age, least)
				}
			}
		})
	}
	all.Wait()
}

// fakeFinished counts deletions.
type fakeFinished struct {
	store.Store
	mu    sync.Mutex
	there map[store.Key]int // deletions that have returned
}

func (s *fakeFinished) age(k store.Key) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.there[k]
}

func (s *fakeFinished) Delete(_ context.Context, rows []store.Row) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range rows {
		s.there[rows[i].Key]++
	}
	return len(rows), nil
}
