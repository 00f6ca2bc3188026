package a2aserver

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/port/porttest"
)

// A client whose calls are refused is read slowly, so that it does not take the
// processor from others; one whose calls are served is not.
func TestRefusedCallsAreReadSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(agreeable{}, testCard(), &Options{Identity: refusing{a2a.Errorf(a2a.CodeUnauthenticated, "no")}})
		p := NewPort(s)
		l := porttest.NewPipes()
		ended := make(chan error)
		go func() { ended <- p.Serve(l) }()
		const calls = 100
		for method, least := range map[string]time.Duration{
			checkMethod:                       0,
			reflectionMethod:                  (calls - 5) * 10 * time.Millisecond,
			"/lf.a2a.v1.A2AService/ListTasks": (calls - 5) * 10 * time.Millisecond,
		} {
			c := dialH2(t, l.Dial())
			began := time.Now()
			for range calls {
				id := c.ask("POST", method, "application/grpc", false)
				_ = c.f.WriteData(id, true, make([]byte, 5))
				<-c.last
				synctest.Wait()
			}
			if took := time.Since(began); took < least || took > 2*least {
				t.Errorf("%d calls of %s took %v, not %v", calls, method, took, least)
			}
			c.conn.Close()
		}
		s.Drain()
		_ = p.Close()
		<-ended
	})
}
