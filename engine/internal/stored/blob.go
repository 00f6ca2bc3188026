package stored

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// Large raw parts are stored once, by the hash of their content, even if many entries and seals
// hold them. In a stored body a part with a URL of our own scheme replaces them. Such a part
// never leaves the engine, and callers may not use the scheme.

const (
	BlobScheme = "parley-blob:"
	// MinBlob is the size in bytes from which a raw part is worth a row of its own.
	MinBlob = 32 << 10
)

// spill returns parts with the large ones replaced by references, and adds
// their content to blobs. The argument is not changed.
func spill(parts []*a2a.Part, blobs *[]store.Blob) []*a2a.Part {
	out := slices.Clone(parts)
	for i, p := range parts {
		if !large(p) {
			continue
		}
		sum := sha256.Sum256(p.Raw)
		hash := hex.EncodeToString(sum[:])
		*blobs = append(*blobs, store.Blob{Hash: hash, Data: p.Raw})
		ref := *p
		ref.Kind, ref.Raw, ref.URL = a2a.PartURL, nil, BlobScheme+hash
		out[i] = &ref
	}
	return out
}

// SpillEntry returns the entry as it is stored.
func SpillEntry(en *a2a.Entry, blobs *[]store.Blob) *a2a.Entry {
	if !anyLarge(PartsOf(en)) { // the usual case
		return en
	}
	stored := *en
	switch {
	case en.Message != nil:
		stored.Message = spillMessage(en.Message, blobs)
	case en.Status != nil:
		ev := *en.Status
		ev.Status.Message = spillMessage(ev.Status.Message, blobs)
		stored.Status = &ev
	case en.Artifact != nil:
		ev := *en.Artifact
		ev.Artifact = spillArtifact(ev.Artifact, blobs)
		stored.Artifact = &ev
	}
	return &stored
}

func anyLarge(parts []*a2a.Part) bool { return slices.ContainsFunc(parts, large) }

func large(p *a2a.Part) bool { return p.Kind == a2a.PartRaw && len(p.Raw) >= MinBlob }

func spillMessage(m *a2a.Message, blobs *[]store.Blob) *a2a.Message {
	if m == nil || !anyLarge(m.Parts) {
		return m
	}
	c := *m
	c.Parts = spill(m.Parts, blobs)
	return &c
}

// spillAll spills each element of a list. It does not change the list, and returns the list
// itself if nothing in it is large.
func spillAll[T any](list []*T, blobs *[]store.Blob, spill func(*T, *[]store.Blob) *T) []*T {
	out := list
	for i, el := range list {
		if stored := spill(el, blobs); stored != el {
			if &out[0] == &list[0] {
				out = slices.Clone(list)
			}
			out[i] = stored
		}
	}
	return out
}

func spillArtifact(a *a2a.Artifact, blobs *[]store.Blob) *a2a.Artifact {
	if !anyLarge(a.Parts) {
		return a
	}
	c := *a
	c.Parts = spill(a.Parts, blobs)
	return &c
}

// blobs is the content that one reader of a task has read, by its hash. Parts that
// refer to the same content share it, so that a task takes no more memory than
// store.Record.Size says. Nil keeps nothing.
type blobs map[string][]byte

// Apart reports whether a stored entry has content that is stored apart from it.
func Apart(en *a2a.Entry) bool { return slices.ContainsFunc(PartsOf(en), isBlob) }

// Refers reports whether the stored body of an entry refers to content apart from it.
func Refers(body []byte) bool { return bytes.Contains(body, []byte(BlobScheme)) }

// isBlob reports whether a stored part refers to content that is stored apart.
func isBlob(p *a2a.Part) bool { return p.Kind == a2a.PartURL && strings.HasPrefix(p.URL, BlobScheme) }

// restore replaces references by their content, in place: the parts were just decoded and are
// not shared yet.
func (r *Reader) restore(ctx context.Context, parts []*a2a.Part, shared blobs) error {
	for _, p := range parts {
		if !isBlob(p) {
			continue
		}
		hash := p.URL[len(BlobScheme):]
		raw := shared[hash]
		if raw == nil {
			var err error
			raw, err = r.store.Blob(ctx, hash)
			if errors.Is(err, store.ErrNotFound) {
				return fmt.Errorf("blob %s: %w", hash, ErrIncomplete)
			}
			if err != nil {
				return err
			}
			if shared != nil {
				shared[hash] = raw
			}
		}
		p.Kind, p.Raw, p.URL = a2a.PartRaw, raw, ""
	}
	return nil
}

// RestoreEntry puts the content that is stored apart from an entry back into it.
func (r *Reader) RestoreEntry(ctx context.Context, en *a2a.Entry) error {
	return r.restoreEntry(ctx, en, nil)
}

func (r *Reader) restoreEntry(ctx context.Context, en *a2a.Entry, shared blobs) error {
	if err := r.restore(ctx, PartsOf(en), shared); err != nil {
		return fmt.Errorf("entry %d: %w", en.Seq, err)
	}
	return nil
}

// PartsOf returns the parts of an entry.
func PartsOf(en *a2a.Entry) []*a2a.Part {
	switch {
	case en.Message != nil:
		return en.Message.Parts
	case en.Status != nil && en.Status.Status.Message != nil:
		return en.Status.Status.Message.Parts
	case en.Artifact != nil:
		return en.Artifact.Artifact.Parts
	}
	return nil
}

func (r *Reader) restoreTask(ctx context.Context, task *a2a.Task) error {
	shared, err := blobs{}, error(nil)
	if m := task.Status.Message; m != nil {
		err = r.restore(ctx, m.Parts, shared)
	}
	for _, m := range task.History {
		err = errors.Join(err, r.restore(ctx, m.Parts, shared))
	}
	for _, a := range task.Artifacts {
		err = errors.Join(err, r.restore(ctx, a.Parts, shared))
	}
	return err
}

// CheckScheme refuses parts that pretend to be references of ours: they would read another
// caller's content.
func CheckScheme(parts []*a2a.Part, path string) error {
	for i, p := range parts {
		if isBlob(p) {
			return a2a.Invalid(fmt.Sprintf("%s[%d].url", path, i), "the scheme %s is reserved", strings.TrimSuffix(BlobScheme, ":"))
		}
	}
	return nil
}
