// Package a2a is the Agent2Agent protocol, version 1.0, in Go: its types, its
// eleven operations as the interface Service, its errors, and Fold, which makes
// a Task out of the log of what happened to it. It uses the standard library
// only and knows no transport: a server, a client and an engine are other
// packages, which meet here.
//
//	res, err := service.SendMessage(ctx, &a2a.SendMessageRequest{Message: a2a.UserText("hello")})
//
// # JSON
//
// Every type has three methods. AppendJSON writes exactly what ProtoJSON says
// to a buffer, without reflection and, but for the maps of cards, without
// allocating anything else; MarshalJSON is the same for encoding/json; UnmarshalJSON reads what ProtoJSON
// readers must accept, and what drafts of 1.0 called things:
//
//   - names in camelCase or snake_case, unknown ones ignored, null for unset,
//     the last of several;
//   - enumerations by name, by number, or in the spelling of version 0.x;
//   - integers as numbers or strings, base64 of all four kinds, timestamps with
//     any offset or none (then UTC), cut after milliseconds.
//
// Part.Data and all metadata are of type JSON and stay as they came, byte for
// byte, spaces and line breaks included. (The package encoding/json, however,
// compacts and escapes what it gets from MarshalJSON.) Whoever frames documents
// by lines must compact them first.
//
// Requests may nest [MaxDepth] levels and a message of a request may have
// [MaxParts] parts. Requests have a method Validate for what JSON does not see:
// missing fields, ranges, ids.
//
// # Errors
//
// Errors are *Error. Of UnmarshalJSON they have CodeParse if the bytes are not
// JSON, else CodeInvalidParams, as of Validate; Fields has then the path of each
// wrong field, such as message.parts[0].raw. Test for codes with errors.Is and
// the Err variables, which works for errors that came over a network, too.
//
// # Concurrency
//
// Values may be read by several goroutines at once. Those that come out of a
// log or a stream are shared by all its readers and must not be changed. A Task
// that grows with Apply belongs to one goroutine, which hands out snapshots.
package a2a
