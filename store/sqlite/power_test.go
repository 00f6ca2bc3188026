//go:build unix

package sqlite

import (
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ncruces/go-sqlite3/vfs"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

// platters is a file system that can show what a power cut at this moment would leave:
// everything synced, and any part of what was written since, in any order. File names are not
// lost; see syncDir.
type platters struct {
	vfs.VFSFilename
	lies bool // a sync does nothing

	mu    sync.Mutex // protects the field below and what it refers to
	files map[string]*platter
}

// platter is one file.
type platter struct {
	synced []byte
	since  []change
	syncs  int
}

// change is a write, or with nil data a file's new length.
type change struct {
	at   int64
	data []byte
}

func (c *change) apply(file []byte) []byte {
	if end := c.at + int64(len(c.data)); end > int64(len(file)) {
		file = append(file, make([]byte, end-int64(len(file)))...)
	}
	if c.data == nil {
		return file[:c.at]
	}
	copy(file[c.at:], c.data)
	return file
}

func (p *platters) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, flags, err := p.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return nil, flags, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	on := p.files[name.String()]
	if on == nil {
		old, err := os.ReadFile(name.String()) // made by other means, and synced: see create
		if err != nil {
			f.Close()
			return nil, flags, err
		}
		on = &platter{synced: old}
		p.files[name.String()] = on
	}
	return &platterFile{diskFile{f}, p, on}, flags, nil
}

func (p *platters) Delete(name string, syncDir bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.files, name)
	return p.VFSFilename.Delete(name, syncDir)
}

type platterFile struct {
	diskFile
	disk *platters
	on   *platter
}

func (f *platterFile) WriteAt(b []byte, at int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.on.since = append(f.on.since, change{at, slices.Clone(b)})
	return f.diskFile.WriteAt(b, at)
}

func (f *platterFile) Truncate(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.on.since = append(f.on.since, change{at: size})
	return f.diskFile.Truncate(size)
}

func (f *platterFile) Sync(vfs.SyncFlag) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.lies {
		return nil
	}
	for i := range f.on.since {
		f.on.synced = f.on.since[i].apply(f.on.synced)
	}
	f.on.since, f.on.syncs = nil, f.on.syncs+1
	return nil
}

// cut writes into a directory what a power cut at this moment would leave. Of a
// change of more than a sector any sectors may have been written.
func (p *platters) cut(t *testing.T, dir string, rng *rand.Rand) {
	p.mu.Lock()
	defer p.mu.Unlock()
	const sector = 512
	chance := rng.IntN(5) // of a sector, in quarters
	if p.lies {
		chance = rng.IntN(4) // something is lost
	}
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		file := slices.Clone(p.files[name].synced)
		for _, c := range p.files[name].since {
			if c.data == nil {
				if rng.IntN(4) < chance {
					file = c.apply(file)
				}
				continue
			}
			for from := 0; from < len(c.data); from += sector {
				if rng.IntN(4) < chance {
					part := change{c.at + int64(from), c.data[from:min(from+sector, len(c.data))]}
					file = part.apply(file)
				}
			}
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), file, 0o600); err != nil {
			t.Error(err)
		}
	}
}

// powerCuts lets writers write, cuts the power at random moments, and returns
// how often something was lost or spoilt, and how often the log of the database
// was moved into it.
func powerCuts(t *testing.T, cuts int, lies bool, check func(path string, acked []int64) bool) (bad, moved int) {
	d := &platters{VFSFilename: vfs.Find("os").(vfs.VFSFilename), lies: lies, files: map[string]*platter{}}
	chunks(t, 8<<10) // many appends are larger
	was := system
	system = mount("platters", d)
	path := filepath.Join(t.TempDir(), "parley.db")
	st := mustOpen(t, path, nil)

	acked := make([]atomic.Int64, crashWriters)
	var written atomic.Int64
	progress := make(chan struct{}, 1)
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for w := range crashWriters {
		writers.Go(func() {
			a := task("", 0)
			a.Row.Key = crashKey(w)
			for {
				select {
				case <-stop:
					return
				default:
				}
				a.Entries = []store.Entry{{Seq: a.After + 1, Time: began, Kind: 1, Body: make([]byte, rand.IntN(20_000))}}
				next := *a
				if err := store.Do(context.Background(), st, &next); err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
				a.After, a.Epoch = a.After+1, 1
				acked[w].Store(a.After)
				written.Add(1)
				select {
				case progress <- struct{}{}:
				default:
				}
			}
		})
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	type scene struct {
		dir   string
		acked []int64
	}
	var scenes []scene
	syncs := func() int {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.files[path].syncs
	}
	for next := int64(0); len(scenes) < cuts || !lies && syncs() == 0; { // the cleaner may be late
		<-progress
		if written.Load() < next {
			continue
		}
		next = written.Load() + 400 + rng.Int64N(400)
		s := scene{dir: t.TempDir()}
		for w := range acked {
			s.acked = append(s.acked, acked[w].Load()) // before the cut
		}
		d.cut(t, s.dir, rng)
		scenes = append(scenes, s)
	}
	close(stop)
	writers.Wait()
	moved = syncs()
	if err := st.Close(); err != nil && !lies {
		t.Error(err)
	}
	system = was
	vfs.Unregister("platters")
	for _, s := range scenes {
		if !check(filepath.Join(s.dir, "parley.db"), s.acked) {
			bad++
		}
	}
	return bad, moved
}

// What was acknowledged survives a power cut, if the disk keeps what it was told
// to sync.
func TestPowerCutLosesNothing(t *testing.T) {
	const cuts = 5
	bad, moved := powerCuts(t, cuts, false, func(path string, acked []int64) bool {
		st, err := Open(path, nil)
		if err != nil {
			t.Errorf("open after a power cut: %v", err)
			return false
		}
		defer st.Close()
		var keys []store.Key
		for w, seq := range acked {
			keys = append(keys, crashKey(w))
			if r, err := st.Get(t.Context(), crashKey(w), store.RowOnly); seq > 0 && (err != nil || r.Last < seq) {
				t.Errorf("%d entries of task %d were acknowledged, there are %+v, %v", seq, w, r, err)
			}
		}
		storetest.Check(t, st, keys...)
		swept(t, st)
		return !t.Failed()
	})
	if bad > 0 || moved == 0 {
		t.Errorf("%d of %d cuts lost something; the log was moved into the database %d times", bad, cuts, moved)
	}
}

// This shows that the test above can fail: on a disk whose sync does nothing, much is lost.
func TestPowerCutLosesWhatIsNotSynced(t *testing.T) {
	bad, _ := powerCuts(t, 3, true, func(path string, acked []int64) bool {
		st, err := Open(path, nil)
		if err != nil {
			return false
		}
		defer st.Close()
		for w, seq := range acked {
			if r, err := st.Get(t.Context(), crashKey(w), store.RowOnly); seq > 0 && (err != nil || r.Last < seq) {
				return false
			}
		}
		return true
	})
	if bad == 0 {
		t.Error("nothing was lost by a disk that loses everything")
	}
}
