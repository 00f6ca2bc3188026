// Command parley runs and calls agents over the Agent2Agent (A2A) protocol.
// Its main work is to join the packages of this module; parley --help says what it does.
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
		// Clients can make grpc-go log anything; the variable turns its log on for debugging.
		grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	}
	ctx, _ := interrupt.Context()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
