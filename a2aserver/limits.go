package a2aserver

// Limits bound what one request and one caller may take. Zero fields mean their
// default, negative ones no limit. Anonymous callers are told apart by their
// address, of IPv6 by its first 64 bits.
type Limits struct {
	// Rate is how many requests a caller may make per second, over a long time,
	// and Burst how many at once. Rate zero means no limit; Burst zero, as many as
	// in two seconds.
	Rate  float64
	Burst int
	// Streams is how many streams a caller may have open. Zero means no limit.
	Streams int
	// Parts is how many parts a message may have. Zero means 1000.
	Parts int
	// PartBytes is how large the content of a part may be, in bytes. Zero means
	// no limit but that of the body.
	PartBytes int
	// Depth is how deep the metadata and the data of a request may be nested.
	// Zero means 64.
	Depth int
	// Hops is how many agents a message may have come through: see HopsHeader.
	// Zero means 16.
	Hops int
	// Connections is how many connections a Port has at a time; more have to
	// wait. Zero means no limit.
	Connections int
	// AddrConnections is how many of them may come from one address; more are
	// closed. Zero means no limit.
	AddrConnections int
}
