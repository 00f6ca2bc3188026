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

	"github.com/jackc/pgx/v5"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/store/postgres"
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

// whole finds what is in a database of tasks that are not there.
func whole(t *testing.T, url string) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	for table, lacks := range map[string]string{
		"entry": "task", "push": "task", "blob_task": "task", "receipt": "task > 0 AND task", "letter": "push", "doomed": "task = task OR task",
	} {
		of := "parley.task"
		if table == "letter" {
			of = "parley.push"
		}
		n := 0
		if err := db.QueryRow(t.Context(), "SELECT count(*) FROM parley."+table+" WHERE "+lacks+" NOT IN (SELECT key FROM "+of+")").Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			t.Errorf("%s has %d rows of what is not in %s", table, n, of)
		}
	}
}
