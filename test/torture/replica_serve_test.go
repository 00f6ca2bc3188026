package torture

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/store/postgres"
	"github.com/parley-a2a/parley/store/storetest"
)

// replicaArg makes the test binary a replica: what follows are the address, the
// database, how many milliseconds others may be silent, and the file of effects.
const replicaArg = "-torture-replica="

func serveReplica(arg string) error {
	args := strings.Split(arg, ",")
	if len(args) != 4 {
		return fmt.Errorf("%q is not address,database,milliseconds,effects", arg)
	}
	dead, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	return standIn(args[0], func(ctx context.Context, l net.Listener, log *slog.Logger) error {
		st, err := postgres.Open(ctx, args[1], &postgres.Options{Logger: log})
		if err != nil {
			return err
		}
		defer st.Close()
		ag := agent.Demo()
		if args[3] != "" {
			effects, err := os.OpenFile(args[3], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			defer effects.Close()
			ag = withSteps(effects)
		}
		s, err := parley.New(agent.DemoCard(), ag, &parley.Options{
			Store: st, Logger: log, DeadAfter: ms(dead), Retries: engine.Retries{Anonymous: true},
		})
		if err != nil {
			return err
		}
		return s.Serve(ctx, l)
	})
}

// whole judges all that is in the database.
func (d *database) whole(t *testing.T) {
	t.Helper()
	st, err := postgres.Open(t.Context(), d.URL(d.name), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	storetest.Check(t, st)
}
