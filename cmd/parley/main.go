// Command parley runs and calls agents over the Agent2Agent (A2A) protocol.
// It is the only place where parts are joined by hand; parley --help says what
// it does.
package main

import (
	"log"
	"os"

	"github.com/parley-a2a/parley/internal/interrupt"
)

func main() {
	log.SetOutput(standardLog{os.Stderr})
	ctx, _ := interrupt.Context()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
