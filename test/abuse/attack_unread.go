package abuse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"golang.org/x/net/http2"
)

// mostBeside is how many streams of health an address may have open.
const mostBeside = 1000

// longestIdle is how long a connection without calls may be open: the server's 150 s,
// and some.
const longestIdle = 170 * time.Second

// flood writes again and again and reads nothing, until the server gives up.
func flood(c net.Conn, first, again string) error {
	_ = c.SetWriteDeadline(time.Now().Add(longest))
	_, err := io.WriteString(c, first)
	for err == nil {
		_, err = io.WriteString(c, again)
	}
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		return errors.New("the server still writes to a client that does not read")
	}
	return nil
}

func unreadCards(ctx context.Context, t *Target) error {
	c, stop, err := t.dial(ctx, "http/1.1")
	if err != nil {
		return err
	}
	defer stop()
	return flood(c, "", strings.Repeat("GET /.well-known/agent-card.json HTTP/1.1\r\nHost: "+t.Addr+"\r\n\r\n", 100))
}

func unreadPings(ctx context.Context, t *Target) error {
	c, stop, err := t.dial(ctx, "h2")
	if err != nil {
		return err
	}
	defer stop()
	var begin, pings strings.Builder
	begin.WriteString(http2.ClientPreface)
	_ = http2.NewFramer(&begin, nil).WriteSettings()
	f := http2.NewFramer(&pings, nil)
	for range 1000 {
		_ = f.WritePing(false, [8]byte{})
	}
	return flood(c, begin.String(), pings.String())
}

// besideStreams opens streams of a service that is beside the agent's, without a key, and
// returns the connection.
func besideStreams(ctx context.Context, t *Target, method string, n int) (*h2, func(), error) {
	h, stop, err := t.h2(ctx)
	if err != nil {
		return nil, nil, err
	}
	for range n {
		id, err := h.begin(":method", "POST", ":scheme", "https", ":authority", t.Addr, ":path", method, "content-type", "application/grpc", "te", "trailers")
		if err == nil {
			err = h.write(func() error { return h.framer.WriteData(id, true, make([]byte, 5)) })
		}
		if err != nil {
			break // cut, as it may be
		}
	}
	return h, stop, nil
}

// watches asks for 2000 watches on a connection.
func watches(ctx context.Context, t *Target) error {
	return besideFor(ctx, t, "/grpc.health.v1.Health/Watch", 2000, mostBeside)
}

// reflections asks for reflection without a key, which nobody may have.
func reflections(ctx context.Context, t *Target) error {
	return besideFor(ctx, t, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", 500, 0)
}

// besideFor asks for streams as besideStreams does. After 20 s at most so many may be
// open.
func besideFor(ctx context.Context, t *Target, method string, asked, most int64) error {
	h, stop, err := besideStreams(ctx, t, method, int(asked))
	if err != nil {
		return err
	}
	defer stop()
	pause(ctx, 20*time.Second)
	select {
	case <-h.gone:
		return nil
	default:
	}
	if open := asked - h.ended.Load(); open > most && ctx.Err() == nil {
		return fmt.Errorf("%d streams of %s are open on a connection, %d may be", open, method, most)
	}
	return nil
}

// idleGRPC calls once and then sends pings as often as it may.
func idleGRPC(ctx context.Context, t *Target) error {
	h, stop, err := besideStreams(ctx, t, "/grpc.health.v1.Health/Check", 1)
	if err != nil {
		return err
	}
	defer stop()
	for began := time.Now(); time.Since(began) < longestIdle; pause(ctx, 10*time.Second) {
		if err := h.write(func() error { return h.framer.WritePing(false, [8]byte{}) }); err != nil || ctx.Err() != nil {
			return nil
		}
	}
	return fmt.Errorf("a connection without calls is open after %v", longestIdle)
}
