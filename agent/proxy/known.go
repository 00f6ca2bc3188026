package proxy

import (
	"slices"

	"github.com/parley-a2a/parley/a2a"
)

// known reduces an element of the agent to what this server knows: members of later
// versions are dropped, and a part of an unknown kind becomes data.
func known(el *a2a.StreamResponse) {
	messages, artifacts := []*a2a.Message{el.Message}, []*a2a.Artifact{}
	if u := el.StatusUpdate; u != nil {
		u.Status.Unknown = nil
		messages = append(messages, u.Status.Message)
	}
	if u := el.ArtifactUpdate; u != nil {
		artifacts = append(artifacts, u.Artifact)
	}
	if t := el.Task; t != nil {
		t.Status.Unknown = nil
		messages, artifacts = append(slices.Clip(t.History), t.Status.Message), t.Artifacts
	}
	for _, m := range messages {
		if m != nil {
			m.Unknown = nil
			knownParts(m.Parts)
		}
	}
	for _, a := range artifacts {
		if a != nil {
			a.Unknown = nil
			knownParts(a.Parts)
		}
	}
}

func knownParts(parts []*a2a.Part) {
	for _, p := range parts {
		if p == nil {
			continue
		}
		p.Unknown = nil
		if p.Kind == a2a.PartUnknown {
			p.Kind = a2a.PartData
		}
	}
}
