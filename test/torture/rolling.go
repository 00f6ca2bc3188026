package torture

import (
	"context"
	"math/rand/v2"
	"syscall"
)

// RunRolling replaces each replica by a new one in each of its rounds, one after
// the other and in good order, while clients work that must not notice: a request
// is refused with 503 at most, and what it sends again is done once. The balancer
// looks who is ready.
func RunRolling(ctx context.Context, o *FleetOptions) (*Report, error) {
	f := newFleet(o)
	f.w.strict = true
	return f.run(ctx, 0, func(ctx context.Context) error {
		f.balancer.attend()
		rng := rand.New(rand.NewPCG(o.Seed, 0))
		for range o.Rounds {
			for n, r := range f.replicas {
				if err := f.live(ctx, ms(100+rng.IntN(400))); err != nil {
					return err
				}
				f.w.note("replica %d is replaced", n)
				f.w.count.stops.Add(1)
				f.strokes[asked]++
				r.away = true
				if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
					return err
				}
				f.drained(r, false)
				if err := r.start(); err != nil {
					return err
				}
				if err := f.await(ctx, len(f.replicas)); err != nil {
					return err
				}
				if err := f.until(ctx, readyWithin, func() bool { return !f.balancer.out[n].Load() }); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
