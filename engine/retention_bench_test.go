package engine

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/place"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/sqlite"
)

// BenchmarkRetention measures what 16 clients notice over HTTP of a sweeper
// that deletes 100,000 small finished tasks on SQLite. Two seconds with it and
// two without alternate, so that what else the machine does is in both. One
// iteration is one request: run it with -benchtime=100000x.
func BenchmarkRetention(b *testing.B) {
	const tasks, clients, window = 100_000, 16, 2 * time.Second
	st, err := sqlite.Open(filepath.Join(b.TempDir(), "parley.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	past(b, st, tasks)
	began := now()
	card := agent.DemoCard()
	e := New(st, agent.Demo(), &card, nil)
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- e.Run(ctx) }()
	server := httptest.NewServer(a2aserver.New(e, &card, nil))
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}

	var sweeping atomic.Int32
	var swept atomic.Int64 // nanoseconds with the sweeper
	var all sync.WaitGroup
	over := make(chan struct{})
	all.Go(func() {
		for on := int32(1); ; on = 1 - on {
			sweeping.Store(on)
			ctx, cancel := context.WithTimeout(ctx, window)
			begin := time.Now()
			if on == 1 {
				e.sweep(ctx, map[a2a.TaskState]time.Duration{a2a.TaskStateCompleted: time.Hour}, &place.Duty{})
				swept.Add(int64(time.Since(begin)))
			}
			select {
			case <-ctx.Done(): // a sweep that has nothing left is over sooner
				cancel()
			case <-over:
				cancel()
				return
			}
		}
	})
	took := make([][2][]time.Duration, clients)
	var requests atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for c := range clients {
		wg.Go(func() {
			for i := requests.Add(1); i <= int64(b.N); i = requests.Add(1) {
				body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m%d","role":"ROLE_USER","parts":[{"text":"echo hello"}]}}}`, i)
				begin, on := time.Now(), sweeping.Load()
				resp, err := client.Post(server.URL, "application/json", strings.NewReader(body))
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				if err != nil {
					b.Error(err)
					return
				}
				took[c][on] = append(took[c][on], time.Since(begin))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	close(over)
	all.Wait()
	for on, name := range []string{"without", "sweeping"} {
		var times []time.Duration
		for c := range took {
			times = append(times, took[c][on]...)
		}
		slices.Sort(times)
		for _, q := range []int{500, 990, 999} {
			if len(times) > 0 {
				b.ReportMetric(times[len(times)*q/1000].Seconds()*1e3, fmt.Sprintf("%s-p%g-ms", name, float64(q)/10))
			}
		}
		b.ReportMetric(float64(len(times)), name+"-requests")
	}
	left := 0
	q := store.IdleQuery{State: int32(a2a.TaskStateCompleted), Before: began.Add(-time.Hour), Limit: tasks}
	if rows, err := st.Idle(context.Background(), q); err == nil {
		left = len(rows)
	}
	b.ReportMetric(float64(tasks-left)/time.Duration(swept.Load()).Seconds(), "deleted/s")
	b.ReportMetric(float64(tasks-left), "deleted")
	stop()
	if err := <-ran; err != nil {
		b.Error(err)
	}
	server.Close()
	if err := st.Close(); err != nil {
		b.Error(err)
	}
}

// past puts n finished tasks of long ago into a store.
func past(b *testing.B, st store.Store, n int) {
	began := now().Add(-1000 * time.Hour)
	errs := make(chan error, n)
	for i := range n {
		at := began.Add(time.Duration(i) * time.Millisecond)
		id := fmt.Sprintf("%08d-0000-4000-8000-000000000000", i)
		a := &store.Append{
			Row:  store.Row{Key: store.Key{ID: id}, Context: id, State: int32(a2a.TaskStateCompleted), Updated: at, Created: at, Epoch: 1},
			Seal: &store.Seal{Head: make([]byte, 250), Body: make([]byte, 150)},
		}
		for seq := range int64(4) {
			a.Entries = append(a.Entries, store.Entry{Seq: seq + 1, Time: at, Kind: 3, Body: make([]byte, 200)})
		}
		st.Append(a, func(err error) { errs <- err })
	}
	for range n {
		if err := <-errs; err != nil {
			b.Fatal(err)
		}
	}
}
