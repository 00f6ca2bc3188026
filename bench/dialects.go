package main

import (
	"context"
	"fmt"
	"time"
)

// dialects is scenario (j): (a) in each version and over each binding. gRPC is
// spoken by grpc-go's client, which costs the generator more than the rest: the
// server's processor time is what to compare there, unless the generator has
// cores to spare.
type dialects struct{}

const dialectsConns = 64

// spoken are the dialects. 1.0 JSON-RPC is what the others are compared to.
var spoken = []string{rpc10.name, rest10.name, grpc10, rpc03.name, rest03.name, grpc03, rpc02.name, rpc01.name}

const (
	grpc10 = "1.0 gRPC"
	grpc03 = "0.3 gRPC"
)

// What is asked for in each dialect.
const (
	echoed   = "echo"
	streamed = "10 chunks"
)

func (dialects) about() about {
	a := about{key: "j", title: "SendMessage \"echo\", and streams of 10 chunks, in each version and over each binding", unit: "calls/s", done: "call"}
	for _, what := range spoken[1:] {
		for _, asked := range []string{echoed, streamed} {
			a.bars = append(a.bars, compared(dialectLabel(what, asked, dialectsConns), dialectLabel(rpc10.name, asked, dialectsConns), 0.6))
		}
	}
	return a
}

func (dialects) cases(p *plan) []setting {
	conns := dialectsConns
	if p.short {
		conns = 4
	}
	var list []setting
	for _, asked := range []string{echoed, streamed} {
		for _, what := range spoken {
			k := setting{label: dialectLabel(what, asked, conns), conns: conns, what: what, turn: asked}
			if asked == streamed {
				k.n = 10
			}
			list = append(list, k)
		}
	}
	return list
}

func dialectLabel(what, asked string, conns int) string {
	return fmt.Sprintf("%s, %s, %d connections", what, asked, conns)
}

func (dialects) open(ctx context.Context, b *bench, of *contender, k setting) (bout, error) {
	return b.underLoad(ctx, of, func(srv *server) *load {
		return b.load(k, func(ctx context.Context, i int, until time.Time) (worker, error) {
			return speak(ctx, srv.addr, k, i, until)
		})
	})
}

// speak opens a connection in the dialect of a case.
func speak(ctx context.Context, addr string, k setting, i int, until time.Time) (worker, error) {
	switch k.what {
	case grpc10, grpc03:
		return newGRPC(addr, k, i)
	}
	for _, d := range []*dialect{rpc10, rest10, rpc03, rest03, rpc02, rpc01} {
		switch {
		case d.name != k.what:
		case k.n > 0:
			return newStreamer(ctx, addr, d, i, k.n, until)
		default:
			return newSender(ctx, addr, d, i, until)
		}
	}
	return nil, fmt.Errorf("no dialect %s", k.what)
}
