package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// A webhook hears at once of what another process writes to its task, and nothing
// more once it is deleted there; what a process that drains has to deliver
// another one delivers at once, and with a process that is dead it goes on as soon
// as that is known.
func TestPushIsPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		var a, b receivers
		words := make(chan string)
		works := sharedPush(t, st, said(words), &a)
		tells := sharedPush(t, st, said(words), &b)
		task := works.mustSend(sendNow("go"))
		c := &a2a.TaskPushNotificationConfig{TaskID: task.ID, ID: "a", URL: "h"}
		if _, err := tells.CreateTaskPushNotificationConfig(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for i := range 10 {
			begun := time.Now()
			words <- "news"
			synctest.Wait()
			if n := len(b.All()); n != i+1 || time.Since(begun) > 0 {
				t.Fatalf("%d notifications after %v", n, time.Since(begun))
			}
		}
		if err := works.DeleteTaskPushNotificationConfig(t.Context(), &a2a.DeleteTaskPushNotificationConfigRequest{TaskID: task.ID, ID: "a"}); err != nil {
			t.Fatal(err)
		}
		words <- "more"
		synctest.Wait()
		if n := len(a.All()) + len(b.All()); n != 10 {
			t.Errorf("%d notifications", n)
		}

		if _, err := tells.CreateTaskPushNotificationConfig(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		b.Mu.Lock()
		b.Serve = func(context.Context, *a2a.Notification) a2a.Outcome { return a2a.Outcome{Verdict: a2a.DeliverAgain} }
		b.Mu.Unlock()
		words <- "for another"
		synctest.Wait()
		tells.stop()
		begun := time.Now()
		for len(a.All()) == 0 && time.Since(begun) < time.Minute {
			time.Sleep(10 * time.Millisecond)
		}
		if took := time.Since(begun); took > 3*time.Second { // it had failed once, and waits
			t.Errorf("taken over after %v", took)
		}
		words <- "end"
		works.stop()
	})
}
