package abuse

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// longest is how long a stream that nobody reads may stay open: the time that a
// write has, and some.
const longest = 75 * time.Second

func message(text string) string {
	return fmt.Sprintf(`{"message":{"messageId":"bad-%x","role":"ROLE_USER","parts":[{"text":%q}]}}`, rand.Uint64(), text)
}

// much makes a stream of more than the buffers of both sides take: the message
// comes back twice. Where the reader's window is small, so is the writer's buffer.
var much = "echo " + strings.Repeat("much ", 60_000)

func unreadRPC(ctx context.Context, t *Target) error {
	return unread(ctx, t, "/", `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":`+message(much)+`}`)
}

func unreadREST(ctx context.Context, t *Target) error {
	return unread(ctx, t, "/message:stream", message(much))
}

// unread begins a stream and reads nothing of it, until the server gives up.
func unread(ctx context.Context, t *Target, path, body string) error {
	c, stop, err := t.dial(ctx, "http/1.1")
	if err != nil {
		return err
	}
	defer stop()
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(4 << 10)
	}
	if _, err := io.WriteString(c, head(t, path, fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body))); err != nil {
		return nil
	}
	// Whether the server has given up shows when something is written.
	for range int(longest / time.Second) {
		pause(ctx, time.Second)
		if _, err := io.WriteString(c, "X"); err != nil || ctx.Err() != nil {
			return nil
		}
	}
	return errors.New("the server still writes to a client that does not read")
}

// unreadGRPC reads frames, and gives no more window than the 64 KiB of the
// beginning.
func unreadGRPC(ctx context.Context, t *Target) error {
	h, stop, err := t.h2(ctx)
	if err != nil {
		return err
	}
	defer stop()
	id, err := h.begin(call(t, "SendStreamingMessage")...)
	if err != nil {
		return nil
	}
	body := request(fmt.Sprintf("bad-%x", rand.Uint64()), much[:50_000]) // the server's window at the beginning is as large as ours
	for len(body) > 0 && err == nil {
		n := min(len(body), 16<<10)
		err = h.write(func() error { return h.framer.WriteData(id, n == len(body), body[:n]) })
		body = body[n:]
	}
	return h.outlasts(ctx)
}

// request is a SendMessageRequest over gRPC.
func request(id, text string) []byte {
	field := func(b []byte, n protowire.Number, v []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), v)
	}
	m := field(nil, 1, []byte(id))
	m = protowire.AppendVarint(protowire.AppendTag(m, 4, protowire.VarintType), 1) // of a user
	m = field(m, 5, field(nil, 1, []byte(text)))
	m = field(nil, 2, m)
	return append([]byte{0, byte(len(m) >> 24), byte(len(m) >> 16), byte(len(m) >> 8), byte(len(m))}, m...)
}

// dropped begins a stream and leaves after its first bytes.
func dropped(ctx context.Context, t *Target) error {
	c, stop, err := t.dial(ctx, "http/1.1")
	if err != nil {
		return err
	}
	defer stop()
	body := message("stream 5 20")
	if _, err := io.WriteString(c, head(t, "/message:stream", fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body))); err != nil {
		return nil
	}
	_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
	line, err := bufio.NewReader(c).ReadString('\n')
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		return errors.New("no answer within 30 s")
	}
	if err == nil && !strings.HasPrefix(line, "HTTP/1.1 ") {
		return fmt.Errorf("answered with %q", line)
	}
	return nil
}
