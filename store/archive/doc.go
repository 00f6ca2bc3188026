// Package archive moves whole stores as text: [Export] writes all tasks, [Import]
// puts them into a store of any driver.
//
//	count, sum, err := archive.Export(ctx, src, file)
//	imported, err := archive.Import(ctx, dst, file, false)
//
// Export works while servers and other programs write. During an import, nothing but the
// import should write to the store: until it is finished, the store has [Mark]. Callers may
// test for [ErrImporting] and [ErrNotEmpty]; other errors concern the export, the file or the
// store.
//
// # The format, version 1
//
// UTF-8, one JSON object per line. {"parley":"export","version":1} comes first. "kept" is a
// value that the server keeps by name. Each "task" (its index row, with "seal", the folded
// task, once it has finished) is followed by its "blob"s (files, by SHA-256), "receipt"s
// (messages that are recognized), "push"es (webhooks), "letter"s (abandoned deliveries) and
// "last" times "entry" ("kind" 1 created, 2 message, 3 status, 4 artifact, 5 step, 6 cancel
// request). "end" has the counts and the SHA-256 of all bytes before it. Bytes that are not
// JSON are base64, in a member whose name ends in 64; a name that is not UTF-8 is
// {"base64":"…"}. Ignore unknown members, and refuse unknown lines.
package archive
