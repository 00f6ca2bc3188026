// Package console_test judges the web console as people meet it: the binary, and a
// real browser. The browser is one, each journey has a profile of its own in it, and
// journeys that end or configure no server share one.
//
// A page that logs an error, breaks the content security policy or asks another origin
// for anything fails its journey: see tab.hear.
//
// It is a module of its own, so that what drives the browser is no dependency of the
// product.
package console_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// patience is for what has to happen. It is no measure of speed.
const patience = 45 * time.Second

var (
	parley string          // the program
	chrome context.Context // the browser; nil: there is none here
	shared *commons        // servers that journeys share
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "-asking-mcp-server" { // started as an agent: see TestElicitationIsAForm
		askingServer()
		return
	}
	if len(os.Args) == 4 && os.Args[1] == "-viewers" { // started by a measurement: see watch
		view(os.Args[2], os.Args[3])
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "parley-console-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	shared = &commons{dir: dir}
	defer shared.end()
	if parley = os.Getenv("PARLEY"); parley == "" {
		parley = filepath.Join(dir, "parley")
		build := exec.Command("go", "build", "-o", parley, "./cmd/parley")
		build.Dir = "../.."
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "build parley:", err)
			return 1
		}
	}
	if os.Getenv("BAR") != "" {
		return m.Run() // a measurement, which no browser disturbs
	}
	at := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "headless-shell"} {
		if path, err := exec.LookPath(name); err == nil && at == "" {
			at = path
		}
	}
	if at == "" {
		fmt.Fprintln(os.Stderr, "there is no Chromium here: .ci/install installs it")
		if os.Getenv("CI") == "true" {
			return 1
		}
		return m.Run() // each journey says that it is skipped
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(at), chromedp.NoSandbox, chromedp.UserDataDir(filepath.Join(dir, "profile")),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("autoplay-policy", "no-user-gesture-required"), chromedp.WSURLReadTimeout(time.Minute),
		// A third of the processor time: a GPU that is emulated, and a process in reserve for
		// each page, which the next page mostly cannot use.
		chromedp.DisableGPU, chromedp.Flag("disable-software-rasterizer", true), chromedp.Flag("process-per-site", true),
		chromedp.Flag("disable-features", "site-per-process,Translate,BlinkGenPropertyTrees,SpareRendererForSitePerProcess")) // the first three are chromedp's
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	ctx, end := chromedp.NewContext(allocator)
	defer end()
	if err := chromedp.Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "start Chromium:", err)
		return 1
	}
	chrome = ctx
	return m.Run()
}
