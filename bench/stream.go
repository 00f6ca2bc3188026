package main

import (
	"context"
	"fmt"
	"time"

	"github.com/parley-a2a/parley/bench/script"
)

// stream is scenario (c): SendStreamingMessage with ten chunks.
type stream struct{}

// chunkSize is how many bytes of text every chunk has.
const chunkSize = 100

func (stream) about() about {
	return about{
		key: "c", title: "SendStreamingMessage, 10 chunks of 100 B", unit: "streams/s", done: "stream",
		bars: []bar{
			against("64 connections", "a2a-go", 15), against("64 connections", "a2a-js", 6),
			against("64 connections", "trpc-a2a-go", 1), against("64 connections", "bare", 0.6),
			between("with telemetry × without, 64 connections", need{parleyTraced, "64 connections"}, need{parleySilent, "64 connections"}, 0.97),
		},
	}
}

func (stream) cases(p *plan) []setting {
	list := byConns(p.conns)
	for i := range list {
		list[i].n = 10
	}
	return list
}

func (stream) open(ctx context.Context, b *bench, of *contender, k setting) (bout, error) {
	return b.underLoad(ctx, of, func(srv *server) *load {
		return b.load(k, func(ctx context.Context, i int, until time.Time) (worker, error) {
			return newStreamer(ctx, srv.addr, of.dialect, i, k.n, until)
		})
	})
}

// streamer asks for streams of n chunks and checks that each chunk is there once
// and in its place, and that the task is completed then.
type streamer struct {
	c    *conn
	d    *dialect
	ids  ids
	n    int
	q    call
	want []byte // the text of the chunk that is next
	seen int    // chunks of the stream under way
}

func newStreamer(ctx context.Context, addr string, d *dialect, i, n int, until time.Time) (*streamer, error) {
	c, err := dial(ctx, addr, wide, until)
	if err != nil {
		return nil, err
	}
	return &streamer{c: c, d: d, ids: newIDs(i), n: n}, nil
}

func (s *streamer) do(context.Context, int) (int, error) {
	id := s.ids.next()
	s.d.streaming(&s.q, id, &message{text: fmt.Sprintf("stream %d %d", s.n, chunkSize)})
	s.seen = 0
	completed := false
	err := s.c.events(&s.q, func(data []byte) error {
		if s.d.rpc && !has(data, `"id":"`, id, `"`) {
			return fmt.Errorf("an event that does not answer %s: %.400q", id, data)
		}
		if completed {
			return fmt.Errorf("an event after the task's end: %.400q", data)
		}
		if has(data, s.d.completed) {
			completed = true
			return nil
		}
		if !has(data, `"text":"chunk `) {
			return nil // the task, or that it is worked at
		}
		s.want = script.AppendChunk(s.want[:0], s.seen+1, chunkSize)
		if !has(data, `"text":"`, string(s.want), `"`) {
			return fmt.Errorf("not chunk %d: %.400q", s.seen+1, data)
		}
		s.seen++
		return nil
	})
	if err != nil {
		return 0, err
	}
	if s.seen != s.n || !completed {
		return 0, fmt.Errorf("the stream ended after %d of %d chunks, completed: %t", s.seen, s.n, completed)
	}
	return 1, nil
}

func (s *streamer) close() { s.c.close() }
