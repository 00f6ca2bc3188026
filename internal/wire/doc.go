// Package wire frames bytes: server-sent events and JSON-RPC 2.0 envelopes.
// It knows nothing of A2A: the content of a frame is a byte slice to it.
//
//	r := wire.NewReader(body, 4<<20)
//	for {
//		ev, err := r.Next()
//		if err == io.EOF {
//			break // the stream ended between two events
//		}
//		...
//		res, err := wire.ParseResponse(ev.Data)
//	}
//
// A Reader belongs to one goroutine; the functions may be called from many.
// Errors to test for: [io.EOF], [io.ErrUnexpectedEOF] and [ErrEventTooLarge]
// from a Reader, and [*Error] from the parsers.
package wire
