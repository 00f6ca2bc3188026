package torture

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// hooking is what goes on with webhooks beside a fleet.
type hooking struct {
	*hookWorld
	watching sync.WaitGroup
}

// hook lets clients that have webhooks work until no new tasks are to begin.
func (f *fleet) hook(ctx context.Context, clients *sync.WaitGroup) error {
	o := *f.o.Hooks
	o.Seed, o.Mercy, o.Hangs = f.o.Seed, true, -1
	w, err := newHookWorld(&o, f.w.log)
	f.hooks, f.w.hooked = &hooking{hookWorld: w}, true
	if err != nil {
		return err
	}
	w.url, w.start = "http://"+f.balancer.addr(), f.w.start
	if !w.insist(ctx, "get the keys", func() (err error) {
		w.keys, err = fetchKeys(ctx, "http://"+f.replicas[0].o.Addr)
		return err
	}) {
		return errors.New("there are no keys")
	}
	numbers := make(chan int)
	clients.Go(func() {
		defer close(numbers)
		for n := 0; ; n++ {
			select {
			case numbers <- n:
			case <-f.w.stopping:
				return
			case <-ctx.Done():
				return
			}
		}
	})
	for n := range o.Clients {
		clients.Go(func() { newHookClient(w, n).run(ctx, numbers) })
	}
	f.hooks.watching.Go(func() { w.deleteAll(ctx) })
	f.hooks.watching.Go(func() { w.watchBrief(ctx) })
	return nil
}

// rest waits until nothing is to come any more, and nothing to be forgotten.
func (f *fleet) rest(ctx context.Context) error {
	const patience = 90 * time.Second
	var left string
	err := f.until(ctx, patience+f.hooks.o.Retain, func() bool {
		hooks, tasks := f.hooks.pending(), len(f.hooks.left())
		left = fmt.Sprintf("%d webhooks, %d tasks over age", hooks, tasks)
		return hooks == 0 && tasks == 0
	})
	if errors.Is(err, errTooLong) {
		f.w.note("there are left: %s", left)
		return nil // what is missing shows
	}
	return err
}
