// Package webhook posts push notifications, and has what the two ends of a webhook
// agree on: headers that prove who posts, and that the content was not changed.
//
//	s := webhook.NewSender(policy, "Parley", version) // an a2a.Notifier
//	s.SetKeys(keys)
//
// A Sender signs each notification and judges the answer. Receivers use its parts, too:
//
//	webhook.Authorize(h, config.Authentication)     // what the client wants to see
//	webhook.SetToken(h, config.Token)
//	id = webhook.SourcedID(source, id)              // for whom
//	keys.Sign(h, id, now, body, config.Token)       // what we add
//
// Signatures are Standard Webhooks: Webhook-Id, Webhook-Timestamp and Webhook-Signature
// over "id.timestamp.body", as HMAC-SHA256 (v1) with the token of the configuration and
// as Ed25519 (v1a) with a key of ours that is published. One set of keys signs for all
// callers of a server: the id says for which of them a signature was made (SourceOf).
// For receivers of versions before 1.0, Keys.Bearer makes the JWT of their samples. The
// receiver reads a delivery with ReadSigned and ReadToken and judges it with a KeySet.
// See docs/design/0006.
//
// # Concurrency
//
// Keys and KeySets do not change. They and a Sender may be used by many goroutines
// at once.
//
// # Errors
//
// A client's mistake in a configuration is an *a2a.Error, InvalidParams with the field.
// ReadSigned and ReadToken fail with ErrMissing or ErrMalformed; Token.Claims with
// ErrUnknownKey if other keys may succeed, and with ErrForged. No error contains a
// credential.
package webhook
