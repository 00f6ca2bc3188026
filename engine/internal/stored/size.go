package stored

import "github.com/parley-a2a/parley/a2a"

// entryWeight is the weight of an entry without its content, in bytes.
const entryWeight = 64

// Weight returns how many bytes an entry counts for Limits.TaskBytes. It does not depend on how
// the entry is stored, so a log weighs the same when it is read again.
func Weight(en *a2a.Entry) int64 {
	n := entryWeight
	switch {
	case en.Message != nil:
		n += en.Message.Size() + listSize(en.Message.Extensions) + listSize(en.Message.ReferenceTaskIDs)
		if r := en.Received; r != nil {
			n += len(r.Metadata) + listSize(r.AcceptedOutputModes) + listSize(r.Extensions)
		}
	case en.Status != nil:
		n += en.Status.Status.Message.Size()
	case en.Artifact != nil:
		n += en.Artifact.Artifact.Size()
	case en.Step != nil:
		n += len(en.Step.Result)
	case en.Cancel != nil:
		n += len(en.Cancel.Metadata)
	}
	return int64(n)
}

// listSize returns the weight of a list of a message.
func listSize(list []string) (n int) {
	for _, s := range list {
		n += 16 + len(s)
	}
	return n
}
