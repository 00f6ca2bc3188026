// Package parley runs agents over the Agent2Agent (A2A) protocol and never
// loses a task.
//
//	card := a2a.Card{Name: "greeter", Description: "Greets."}
//	err := parley.Serve("127.0.0.1:7275", card, agent.Func(func(ctx context.Context, t *agent.Turn) error {
//		return t.Reply("hello " + t.Text())
//	}))
//
// And a client, of this agent or any other ([github.com/parley-a2a/parley/a2aclient]
// has a complete example):
//
//	c, err := a2aclient.Dial(ctx, "127.0.0.1:7275", nil)
//	res, err := c.SendMessage(ctx, &a2a.SendMessageRequest{Message: a2a.UserText("Ann")})
//	fmt.Println(res.Message.Text())
//
// NewHost serves several agents on one port, and can replace them while it runs.
// This package is the entry point: it joins the parts with good defaults and has no
// behaviour of its own. From the bottom up, the parts are
//
//   - [github.com/parley-a2a/parley/a2a]: the protocol's types, its eleven
//     operations as an interface, its errors;
//   - [github.com/parley-a2a/parley/store]: storage of task logs, with
//     drivers below it;
//   - [github.com/parley-a2a/parley/agent]: the interface that you implement, and
//     ready-made agents; those that use a network (HTTP services, models,
//     other agents, MCP servers) are packages below it;
//   - [github.com/parley-a2a/parley/engine]: the protocol's rules, over an
//     agent and a store;
//   - [github.com/parley-a2a/parley/a2aserver] and
//     [github.com/parley-a2a/parley/a2aclient]: the operations over a network,
//     server and client.
package parley
