// Command parley runs and calls agents over the Agent2Agent (A2A) protocol.
// It is the only place where parts are joined by hand; parley --help says what
// it does.
package main

import (
	"io"
	"log"
	"os"

	"google.golang.org/grpc/grpclog"

	"github.com/parley-a2a/parley/internal/interrupt"
)

func main() {
	log.SetOutput(standardLog{os.Stderr})
	if os.Getenv("GRPC_GO_LOG_SEVERITY_LEVEL") == "" {
		// Clients can have grpc-go say what they like; the variable is for those who debug.
		grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	}
	ctx, _ := interrupt.Context()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
