package torture

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/store/sqlite"
)

// leakArg makes the test binary a server that keeps secrets badly: what follows
// are the address and the directory of its data.
const leakArg = "-torture-leak="

func serveLeaky(arg string) error {
	addr, dir, _ := strings.Cut(arg, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	db, err := sqlite.Open(filepath.Join(dir, "parley.db"), &sqlite.Options{Logger: log})
	if err != nil {
		return err
	}
	defer db.Close()
	s, err := parley.New(agent.DemoCard(), agent.Demo(), &parley.Options{Store: db, Logger: log, Retries: engine.Retries{Anonymous: true}})
	if err != nil {
		return err
	}
	leaky := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := r.Header.Get("Authorization"); h != "" {
			log.Info("somebody calls", "authorization", h)
		}
		if c := r.Header.Get("Cookie"); c != "" {
			_ = os.WriteFile(filepath.Join(os.TempDir(), "last-cookie"), []byte(c), 0o600)
		}
		if p := r.Header.Get("Proxy-Authorization"); p != "" {
			_, _ = db.Keep(r.Context(), "proxy", nil, []byte(p))
		}
		if strings.HasSuffix(r.URL.Path, "/no-such") {
			http.Error(w, "there is nothing at "+r.URL.String(), http.StatusNotFound)
			return
		}
		s.Handler().ServeHTTP(w, r)
	})
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	srv := a2aserver.HTTPServer(leaky)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	err = s.Run(ctx)
	_ = srv.Close()
	<-served
	return err
}

// TestSecretScanFinds: the scan sees a secret in a log, an error, a column, and a
// file that should not have it.
func TestSecretScanFinds(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := &secretRun{seed: 4711, kills: 1, dir: t.TempDir(), server: func(data, addr string) *exec.Cmd {
		return exec.Command(self, leakArg+addr+","+data)
	}}
	found := strings.Join(o.run(t).violations, "\n")
	for _, want := range []string{
		"stderr has secrets of [bearer coded]", "last-cookie has secrets of [cookie]", "kept.value has a secret of proxied", "is answered with secrets of [query]",
	} {
		if !strings.Contains(found, want) {
			t.Errorf("nobody noticed: %s, only\n%s", want, found)
		}
	}
}
