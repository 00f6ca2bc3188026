package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// limited starts an engine with limits.
func limited(t *testing.T, st store.Store, ag agent.Agent, l Limits) *world {
	return newWorldWith(t, st, ag, testCard(), &Options{Limits: l, Retries: Retries{Anonymous: true}})
}

func as(subject, tenant string) context.Context {
	return a2a.WithCaller(context.Background(), a2a.Caller{Subject: subject, Tenant: tenant})
}

// wantLimited wants a refusal that says which limit, and when to come again.
func wantLimited(t testing.TB, err error, words string) {
	t.Helper()
	var e *a2a.Error
	if !errors.As(err, &e) || e.Code != a2a.CodeRateLimited || e.RetryAfter <= 0 || !strings.Contains(e.Message, words) {
		t.Fatalf("got %v, want RateLimited with %q", err, words)
	}
}

// counted is how many tasks at work are counted.
func (w *world) counted() int {
	n, _ := w.admission.At()
	return n
}

// lingering does what the words of its message say, one after the other, and
// those of the answers that it gets.
var lingering = agent.Func(func(ctx context.Context, t *agent.Turn) error {
	words := strings.Fields(t.Text())
	for {
		if len(words) == 0 {
			return nil
		}
		word := words[0]
		words = words[1:]
		switch word {
		case "ask":
			m, err := t.Ask(ctx, "?")
			if err != nil {
				return err
			}
			words = append(words, strings.Fields(m.Text())...)
		case "auth":
			if _, err := t.Authenticate(ctx, "?"); err != nil {
				return err
			}
		case "by":
			_, err := t.AuthenticateBy(ctx, "?", func(ctx context.Context) error { return wake.Pause(ctx, time.Second) })
			if err != nil {
				return err
			}
		case "work":
			if err := wake.Pause(ctx, time.Minute); err != nil {
				return err
			}
		case "status":
			if err := t.Status("here"); err != nil {
				return err
			}
		case "reply":
			return t.Reply("x")
		case "fail":
			return errors.New("x")
		case "panic":
			panic("x")
		case "deaf":
			time.Sleep(time.Minute)
		}
	}
})

// One more than may be at work is refused, for the owner and for all, and leaves
// neither a task nor a receipt; what waits for its client makes room.
func TestRunningIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		w := limited(t, st, lingering, Limits{Running: 3, RunningPerOwner: 2})
		post := func(ctx context.Context, req *a2a.SendMessageRequest) (*a2a.Task, error) {
			r, err := w.SendMessage(ctx, req)
			if err != nil {
				return nil, err
			}
			return r.Task, nil
		}
		must := func(ctx context.Context, req *a2a.SendMessageRequest) *a2a.Task {
			t.Helper()
			task, err := post(ctx, req)
			if err != nil {
				t.Fatal(err)
			}
			return task
		}
		ann, ben := as("ann", ""), as("ben", "")
		asks := must(ann, sendNow("ask work"))
		synctest.Wait()
		if n := w.counted(); n != 0 {
			t.Errorf("%d are counted while one asks", n)
		}
		work := must(ann, sendNow("work"))
		must(ann, sendNow("work"))
		refused := sendNow("work")
		_, err := post(ann, refused)
		wantLimited(t, err, "you have 2 tasks")
		_, err = post(ann, replyNow(asks, "x"))
		wantLimited(t, err, "you have 2 tasks")
		if got := must(as("ann", "other"), sendNow("ask")); got == nil { // another tenant is another owner
			t.Error("no task")
		}
		synctest.Wait()
		must(ben, sendNow("work"))
		_, err = post(ben, sendNow("work"))
		wantLimited(t, err, "this agent has 3 tasks")
		_, err = collect(w.SendStreamingMessage(ben, send("reply")))
		wantLimited(t, err, "this agent has 3 tasks")
		by := send("work")
		by.Message.TaskID = "chosen"
		by.Legacy = &a2a.Legacy{Version: "0.1", CreateByID: true}
		_, err = post(ben, by)
		wantLimited(t, err, "this agent has 3 tasks")
		if _, err := w.GetTask(ben, &a2a.GetTaskRequest{ID: "chosen"}); !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("the refused task: %v", err)
		}

		list, err := w.ListTasks(ann, &a2a.ListTasksRequest{})
		if err != nil || list.TotalSize != 3 {
			t.Errorf("ann has %d tasks, %v; want 3", list.TotalSize, err)
		}
		if _, err := st.Receipt(t.Context(), store.Key{Owner: "ann"}, "m:"+refused.Message.MessageID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the refused message has a receipt: %v", err)
		}
		task, err := w.GetTask(ann, &a2a.GetTaskRequest{ID: asks.ID})
		if err != nil {
			t.Fatal(err)
		}
		wantState(t, task, a2a.TaskStateInputRequired)
		wantTexts(t, task.History, "ask work")

		if _, err := w.CancelTask(ann, &a2a.CancelTaskRequest{ID: work.ID}); err != nil {
			t.Fatal(err)
		}
		must(ann, refused) // the same again, which is not known
		_, err = post(ann, replyNow(asks, "x"))
		wantLimited(t, err, "you have 2 tasks")
		time.Sleep(2 * time.Minute)
		if n := w.counted(); n != 0 {
			t.Errorf("%d are counted when all is over", n)
		}
		must(ann, replyNow(asks, "x"))
		w.stop()
	})
}

// A caller whose credentials name no tenant names one itself, and another one
// with each request: that is no way around the limit. A caller of the same name
// in another tenant is not held up.
func TestRunningIsLimitedOverTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := limited(t, nil, lingering, Limits{RunningPerOwner: 2})
		work := func(ctx context.Context, tenant string) error {
			req := sendNow("work")
			req.Tenant = tenant
			_, err := w.SendMessage(ctx, req)
			return err
		}
		for _, name := range []string{"ann", ""} {
			if err := errors.Join(work(as(name, ""), "one"), work(as(name, ""), "two")); err != nil {
				t.Fatal(err)
			}
			wantLimited(t, work(as(name, ""), "three"), "you have 2 tasks")
			wantLimited(t, work(as(name, ""), ""), "you have 2 tasks")
		}
		if err := work(as("ann", "three"), ""); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Minute)
		if n, of := w.admission.At(); n != 0 || of != 0 {
			t.Errorf("%d are counted when all is over, of %d owners", n, of)
		}
		if err := work(as("ann", ""), "three"); err != nil {
			t.Error(err)
		}
		w.stop()
	})
}

// However a task ends or pauses it makes room again.
func TestRoomIsGivenBack(t *testing.T) {
	for _, text := range []string{"", "reply", "fail", "panic", "ask", "auth", "status reply", "deaf", "work", "ask panic", "by ask", "by"} {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := limited(t, nil, lingering, Limits{Running: 1, RunningPerOwner: 1, Wall: time.Hour})
				for range 3 {
					r, err := w.SendMessage(t.Context(), sendNow("x "+text))
					if err != nil {
						t.Fatal(err)
					}
					if text == "deaf" {
						if _, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: r.Task.ID}); err != nil {
							t.Fatal(err)
						}
					}
					if text == "by" || text == "by ask" {
						time.Sleep(2 * time.Second)
					}
					if text == "work" {
						time.Sleep(2 * time.Minute)
					}
					synctest.Wait()
					if n := w.counted(); n != 0 {
						t.Fatalf("%d are counted", n)
					}
				}
				time.Sleep(2 * time.Minute)
			})
		})
	}
}

// Of many that want the last room exactly one gets it, also where tasks wait
// for an answer.
func TestRoomIsNotOverbooked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		w := newWorld(t, st, lingering)
		var asking []*a2a.Task
		for range 10 {
			asking = append(asking, w.mustSend(send("ask work")))
		}
		w.stop()
		w = limited(t, st, lingering, Limits{Running: 5})
		for range 10 {
			asking = append(asking, w.mustSend(send("ask work"))) // these have an agent that waits
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		taken := 0
		for i := range 40 {
			wg.Go(func() {
				req := sendNow("work")
				if i < 20 {
					req = replyNow(asking[i], "x")
				}
				if _, err := w.SendMessage(t.Context(), req); err == nil {
					mu.Lock()
					taken++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if n := w.counted(); taken != 5 || n != 5 {
			t.Errorf("%d were taken, %d are counted, want 5", taken, n)
		}
		time.Sleep(2 * time.Minute)
		if n := w.counted(); n != 0 {
			t.Errorf("%d are counted when all is over", n)
		}
		w.stop()
	})
}

// Tasks of before a restart count and are not refused, even where they are more
// than the limit.
func TestTakenUpTasksCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		w, kill := newMortal(t, st, lingering, nil)
		for range 4 {
			w.mustSend(sendNow("status work"))
		}
		kill()
		w = limited(t, st, lingering, Limits{Running: 2})
		synctest.Wait()
		if n := w.counted(); n != 4 {
			t.Errorf("%d are counted, want 4", n)
		}
		_, err := w.SendMessage(t.Context(), sendNow("work"))
		wantLimited(t, err, "2 tasks at work")
		time.Sleep(2 * time.Minute)
		if n := w.counted(); n != 0 {
			t.Errorf("%d are counted when all is over", n)
		}
		w.mustSend(send("x"))
		w.stop()
		if n := w.counted(); n != 0 {
			t.Errorf("%d are counted after the drain", n)
		}
	})
}

// Random lives of many tasks never lose count.
func TestRoomAtRandom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 0))
		words := []string{"ask", "auth", "work", "status", "fail", "panic", "deaf", "reply"}
		w := limited(t, st, lingering, Limits{Running: 10, RunningPerOwner: 4, Messages: 6, Wall: 5 * time.Minute})
		var tasks []*a2a.Task
		owner := map[string]context.Context{}
		for range 300 {
			ctx := as(fmt.Sprint("owner ", r.IntN(4)), "")
			switch n := r.IntN(10); {
			case n < 5:
				text := ""
				for range 1 + r.IntN(3) {
					text += words[r.IntN(len(words))] + " "
				}
				if got, err := w.SendMessage(ctx, sendNow(text)); err == nil && got.Task != nil {
					tasks = append(tasks, got.Task)
					owner[got.Task.ID] = ctx
				}
			case n < 8 && len(tasks) > 0:
				task := tasks[r.IntN(len(tasks))]
				w.SendMessage(owner[task.ID], replyNow(task, words[r.IntN(len(words))]))
			case n < 9 && len(tasks) > 0:
				task := tasks[r.IntN(len(tasks))]
				go w.CancelTask(owner[task.ID], &a2a.CancelTaskRequest{ID: task.ID})
			default:
				time.Sleep(time.Duration(r.IntN(30)) * time.Second)
			}
			if n := w.counted(); n > 10 {
				t.Fatalf("%d are counted", n)
			}
		}
		for _, task := range tasks {
			go w.CancelTask(owner[task.ID], &a2a.CancelTaskRequest{ID: task.ID})
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n, of := w.admission.At(); n != 0 || of != 0 {
			t.Errorf("%d are counted when all is over, of %d owners", n, of)
		}
		w.stop()
	})
}

// A message that had to be counted in memory and is then refused leaves nothing: it would
// take the place of a task for ever.
func TestRefusedLargeMessageIsNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		o := oneMiB()
		o.Limits = Limits{Running: 1}
		w := newWorldWith(t, st, lingering, testCard(), o)
		w.mustSend(sendNow("work"))
		_, err := w.SendMessage(t.Context(), sendNow("work "+strings.Repeat("x", 20<<10)))
		wantLimited(t, err, "at work")
		if n := w.counted(); n != 1 {
			t.Errorf("%d tasks are counted, and one is at work", n)
		}
		time.Sleep(2 * time.Minute)
		w.mustSend(send(""))
	})
}
