package mcp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/parley-a2a/parley/agent"
)

// hopeless reports whether it is no use to retry the session soon.
func hopeless(err error) bool {
	return errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) ||
		errors.Is(err, context.DeadlineExceeded)
}

// public turns err into an error for callers. The server's own words and its address
// are never sent to them, except complaints about the arguments.
func (t *Tools) public(ctx context.Context, err error) error {
	var (
		said    *agent.PublicError
		connect *connectError
		lost    *lostError
		rpc     *jsonrpc.Error
	)
	reason := "the MCP server did not answer as it should"
	switch {
	case err == nil || errors.As(err, &said):
		return err
	case ctx.Err() != nil && (!errors.As(err, &rpc) || errors.As(err, &lost) || errors.As(err, &connect)): // otherwise the server answered
		return err
	case errors.Is(err, errSilent):
		reason = fmt.Sprintf("the tool gave no sign of life for %s", t.opts.timeout().Round(time.Millisecond))
	case errors.Is(err, errUnknown):
		reason = unknown
	case errors.As(err, &connect) && len(t.server.Command) > 0:
		reason = "the MCP server cannot be started"
	case errors.As(err, &connect):
		reason = "the MCP server cannot be reached"
	case errors.Is(err, errLongLine):
		reason = fmt.Sprintf("the MCP server sent a message larger than the limit of %d bytes", t.opts.maxMessage())
	case errors.As(err, &lost):
		reason = "the MCP server broke off the connection"
	case errors.As(err, &rpc) && rpc.Code == jsonrpc.CodeInvalidParams:
		reason = "the MCP server refused the call: " + cut(rpc.Message, maxReason)
	case errors.As(err, &rpc):
		reason = fmt.Sprintf("the MCP server did not carry out the call (error %d)", rpc.Code)
	case errors.Is(err, context.DeadlineExceeded):
		reason = "the MCP server did not answer in time"
	}
	return agent.Public(reason, err)
}

// unknown is the reason with which a task fails whose tool must not be called again.
const unknown = "the call of the tool was interrupted, and it must not be made twice: whether it took effect is not known"

// maxReason caps the server's text in a reason for callers, in bytes.
const maxReason = 8 << 10
