// Package a2a is the Agent2Agent protocol, version 1.0, in Go: its types, its eleven
// operations as the interface Service, its errors, and Fold, which builds a Task from its
// log. It imports the standard library only and knows no transport: the packages
// a2aserver, a2aclient and engine build on it. Comments cite sections of the
// specification (§).
//
//	res, err := client.SendMessage(ctx, &a2a.SendMessageRequest{Message: a2a.UserText("hello")})
//
// # JSON
//
// Every type has three methods. AppendJSON writes exactly the ProtoJSON form to a
// buffer, without reflection and, except for the maps of cards, without allocating
// anything else; MarshalJSON is the same for encoding/json; UnmarshalJSON reads what
// ProtoJSON readers must accept, and the names that drafts of 1.0 used:
//
//   - names in camelCase or snake_case, unknown ones ignored, null for unset,
//     the last of several;
//   - enumerations by name, by number, or in the spelling of version 0.x;
//   - integers as numbers or strings, base64 of all four kinds, timestamps with
//     any offset or none (then UTC), cut after milliseconds.
//
// Part.Data and all metadata are of type JSON and stay as they came, byte for byte,
// spaces and line breaks included. (The package encoding/json, however, compacts and
// escapes what it gets from MarshalJSON.) If you frame documents by lines, pass them
// through OneLine first.
//
// Requests may nest [MaxDepth] levels and a message of a request may have [MaxParts]
// parts. Requests have a method Validate, which checks what decoding cannot: missing
// fields, ranges and ids.
//
// # Errors
//
// Errors are *Error. UnmarshalJSON returns CodeParse if the bytes are not JSON, and
// CodeInvalidParams if they do not fit the type; Validate returns CodeInvalidParams.
// Fields then has the path of each wrong field, such as message.parts[0].raw. Test for
// codes with errors.Is and the Err variables; that works for errors that came over a
// network, too.
//
// # Concurrency
//
// Several goroutines may read a value at once. Values that come out of a log or a stream
// are shared by all its readers: do not change them. A Task that grows with Apply belongs
// to one goroutine, which hands out snapshots.
package a2a
