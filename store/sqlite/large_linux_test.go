package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

// outsideGo returns the process's memory that Go's runtime does not manage, in bytes: that of
// SQLite, and the program itself.
func outsideGo(t *testing.T) int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return kib<<10 - int64(m.Sys-m.HeapReleased)
		}
	}
	t.Fatal("there is no RssAnon")
	return 0
}

// A server that gets large messages all day does not grow. The database's log is long, as it
// is when readers are slow.
func TestLargeAppendsLeaveNoMemory(t *testing.T) {
	if b, _ := debug.ReadBuildInfo(); b != nil && slices.Contains(b.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Skip("the race detector keeps memory of its own, which cannot be told from SQLite's")
	}
	st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	var keys []store.Key
	before := outsideGo(t)
	err := st.read(t.Context(), func(c *conn) error {
		return c.snapshot(func() error {
			if _, _, err := c.stmt("SELECT count(*) FROM task").one(); err != nil {
				return err
			}
			for i := range 24 {
				a := task(fmt.Sprint("large-", i), 8_000_000+i%3*1000)
				keys = append(keys, a.Row.Key)
				mustAppend(t, st, a)
				sealed := goOn(a)
				sealed.Seal = &store.Seal{Head: []byte("head"), Body: make([]byte, 15_900_000)}
				mustAppend(t, st, sealed)
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if grown := outsideGo(t) - before; grown > 128<<20 {
		t.Errorf("750 MB of appends left %d MiB", grown>>20)
	}
	storetest.Check(t, st, keys...)
}
