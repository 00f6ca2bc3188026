// Package a2aclient calls agents over a network: it finds an agent's card,
// chooses one of its interfaces, and is then an a2a.Service like the engine
// itself, over JSON-RPC, HTTP+JSON or gRPC.
//
//	c, err := a2aclient.Dial(ctx, "localhost:7275", nil)
//	if err != nil {
//		return err
//	}
//	for ev, err := range c.SendStreamingMessage(ctx, req) {
//		if err != nil {
//			return err
//		}
//		task.ApplyEvent(ev)
//	}
//
// Resolve and Resolver find cards, New makes a client for a card, Dial does
// both. Nothing runs in the background, and there is nothing to close.
//
// # Streams
//
// A stream that is cut is resumed without the caller's doing. With servers
// that number their events, as Parley does, every element comes exactly once
// and in order, whatever happens to connections and servers meanwhile; with
// others, a Task element makes up for what was missed. SubscribeToTask has the
// exact promises. A message is never sent twice.
//
// # Errors
//
// Test for the agent's errors with errors.Is and the a2a.Err variables; they
// are *a2a.Error, as are those concluded from the card without asking the
// agent, which have Peer unset. Failures of the network are *TransportError,
// and references that lead to no card *CardError. No error and no log record
// holds a credential or the query of a URL.
//
// # Concurrency
//
// Clients and resolvers may be used by many goroutines at once. Each stream is
// ranged over by one. Elements and cards must not be changed.
package a2aclient
