// Package a2aclient calls agents over a network: it finds an agent's card,
// chooses one of its interfaces, and is then an a2a.Service like the engine
// itself, over JSON-RPC, HTTP+JSON or gRPC, in any version of the protocol.
//
//	c, err := a2aclient.Dial(ctx, "127.0.0.1:7275", nil)
//	if err != nil {
//		return err
//	}
//	task, message := new(a2a.Task), a2a.UserText("ask Which city?")
//	for !task.Status.State.Terminal() {
//		for ev, err := range c.SendStreamingMessage(ctx, &a2a.SendMessageRequest{Message: message}) {
//			if err != nil {
//				return err
//			}
//			if ev.Message != nil { // an answer without a task
//				fmt.Println(ev.Message.Text())
//				return nil
//			}
//			if task.ApplyEvent(ev); ev.ArtifactUpdate != nil {
//				for _, part := range ev.ArtifactUpdate.Artifact.Parts {
//					fmt.Print(part.Text)
//				}
//			}
//		}
//		if task.Status.State.Interrupted() { // the agent asks
//			fmt.Println(task.Status.Message.Text())
//			message = a2a.UserText("Paris")
//			message.TaskID = task.ID
//		}
//	}
//	fmt.Printf("\n%s\n", task.Status.State)
//
// SendMessage waits and returns the task, or the message, in one piece. Credentials
// and limits are in [Options].
//
// Resolve and Resolver find cards, New makes a client for a card, and Dial does both.
// Nothing runs in the background, and there is nothing to close.
//
// # Versions
//
// Agents of versions 0.1 to 1.1 look alike: requests, results and elements are those of
// 1.0. The version comes from the card, or from Options.Version. If an agent has no
// card, or a wrong one, the client finds its version by asking for a task that does not
// exist. An operation that a version lacks is UnsupportedOperation, without a request.
// Before 1.0
//
//   - an agent of 0.1 answers with a Task where others would send a Message,
//     and its streams do not begin with the Task; the client chooses the id of
//     the task. The agent ignores ReturnImmediately.
//   - a subscription to a finished task ends at once, without an error.
//   - streams, and subscriptions, may end at INPUT_REQUIRED.
//   - a stream that was cut resumes after the last event only if the server
//     numbers its events, and never in 0.1; otherwise see SubscribeToTask. Because
//     such streams need not begin with the Task, it is fetched once more at the
//     end.
//
// # Streams
//
// The client resumes a stream that is cut. With servers that number their events, as
// Parley does, every element comes exactly once and in order, whatever happens to
// connections and servers; with other servers, a Task element makes up for missed
// elements. SubscribeToTask has the exact promises.
//
// A message that got no answer is sent again only if the agent's card says that it
// recognizes repeated messages, so that nothing is done twice: see SendMessage.
// Otherwise a message is never repeated.
//
// A Follower yields what happens to a task until it ends or needs its client. It uses a
// stream if there is one, and polls otherwise.
//
// # Errors
//
// Test for the agent's errors with errors.Is and the a2a.Err variables; they
// are *a2a.Error, as are those concluded from the card without asking the
// agent, which have Peer unset. Failures of the network are *TransportError,
// and references that lead to no card *CardError. No error and no log record
// holds a credential or the query of a URL.
//
// # Webhooks
//
// WebhookVerifier is for programs that receive webhooks: it verifies each delivery by
// the agent's published keys or by the token, and processes it once.
//
// # Concurrency
//
// Clients and resolvers may be used by many goroutines at once, each stream by one.
// Elements and cards must not be changed.
package a2aclient
