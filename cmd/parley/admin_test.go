package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/sqlite"
)

// Commands of the scripts of admin:
//
//	tasks dir n         puts n finished tasks into the database of a directory
//	dies pattern arguments
//	                    runs parley and kills it when its standard error matches
//	load n              starts n clients that send to $URL until "unload"
//	loaded VARIABLE     sets a variable to how many answers they have got, once
//	                    that are a hundred more than before
//	atleast a b         compares numbers
//	gone url id         waits until a task is not found

func cmdTasks(ts *testscript.TestScript, neg bool, args []string) {
	n, err := 0, error(nil)
	if len(args) == 2 {
		n, err = strconv.Atoi(args[1])
	}
	if neg || n == 0 || err != nil {
		ts.Fatalf("usage: tasks dir n")
	}
	st, err := sqlite.Open(filepath.Join(ts.MkAbs(args[0]), "parley.db"), nil)
	ts.Check(err)
	at := time.Now().Add(-48 * time.Hour)
	errs := make(chan error, n)
	for i := range n {
		id := fmt.Sprintf("old-%06d", i)
		a := &store.Append{Row: store.Row{Key: store.Key{ID: id}, Context: "c", State: int32(a2a.TaskStateCompleted), Updated: at, Created: at, Epoch: 1}}
		for seq, en := range []*a2a.Entry{
			{Kind: a2a.EntryCreated, Created: &a2a.Created{TaskID: id, ContextID: "c"}},
			{Kind: a2a.EntryStatus, Status: &a2a.TaskStatusUpdateEvent{TaskID: id, ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted, Timestamp: at}}},
		} {
			a.Entries = append(a.Entries, store.Entry{Seq: int64(seq + 1), Time: at, Kind: uint8(en.Kind), Body: en.AppendBody(nil)})
		}
		st.Append(a, func(err error) { errs <- err })
	}
	for range n {
		ts.Check(<-errs)
	}
	ts.Check(st.Close())
}

func cmdDies(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: dies pattern arguments...")
	}
	cmd := program(ts, args[1:])
	pipe, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	pattern, killed := regexp.MustCompile(args[0]), false
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		ts.Logf("[err] %s", lines.Text())
		if !killed && pattern.MatchString(lines.Text()) {
			killed = true
			ts.Check(cmd.Process.Kill())
		}
	}
	if err := cmd.Wait(); err == nil || !killed {
		ts.Fatalf("it ended by itself")
	}
}

type loadKey struct{}

// load is the clients that send while something else happens.
type load struct {
	stop    chan struct{}
	clients sync.WaitGroup
	got     atomic.Int64
	failed  atomic.Pointer[string]
}

func cmdLoad(ts *testscript.TestScript, neg bool, args []string) {
	l := ts.Value(loadKey{}).(*load)
	if neg || len(args) != 1 || l.stop != nil {
		ts.Fatalf("usage: load n")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	l.stop = make(chan struct{})
	url, stop := ts.Getenv("URL"), l.stop
	ts.Defer(sync.OnceFunc(func() { l.end() }))
	for c := range n {
		l.clients.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"%d-%d","role":"ROLE_USER","parts":[{"text":"echo x"}]}}}`, c, i)
				if err := post(url, body); err != nil {
					text := err.Error()
					l.failed.Store(&text)
					return
				}
				l.got.Add(1)
			}
		})
	}
}

func post(url, body string) error {
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && !strings.Contains(string(b), "TASK_STATE_COMPLETED") {
		err = fmt.Errorf("%s", b)
	}
	return err
}

func (l *load) end() {
	if l.stop != nil {
		close(l.stop)
		l.clients.Wait()
		l.stop = nil
	}
}

func cmdLoaded(ts *testscript.TestScript, neg bool, args []string) {
	l := ts.Value(loadKey{}).(*load)
	for from := l.got.Load(); l.got.Load() < from+100; {
		if f := l.failed.Load(); f != nil {
			ts.Fatalf("a client failed: %s", *f)
		}
		time.Sleep(time.Millisecond) // for another process
	}
	ts.Setenv(args[0], fmt.Sprint(l.got.Load()))
}

func cmdUnload(ts *testscript.TestScript, neg bool, args []string) {
	l := ts.Value(loadKey{}).(*load)
	l.end()
	if f := l.failed.Load(); f != nil {
		ts.Fatalf("a client failed: %s", *f)
	}
}

func cmdAtLeast(ts *testscript.TestScript, neg bool, args []string) {
	a, err := strconv.Atoi(args[0])
	ts.Check(err)
	b, err := strconv.Atoi(args[1])
	ts.Check(err)
	if (a >= b) == neg {
		ts.Fatalf("%d and %d", a, b)
	}
}

func cmdGone(ts *testscript.TestScript, neg bool, args []string) {
	for range 1000 {
		resp, err := http.Get(args[0] + "/tasks/" + args[1])
		ts.Check(err)
		resp.Body.Close()
		if resp.StatusCode == http.StatusNotFound {
			return
		}
		time.Sleep(10 * time.Millisecond) // for another process
	}
	ts.Fatalf("%s is still there", args[1])
}
