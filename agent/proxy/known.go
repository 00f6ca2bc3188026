package proxy

import "github.com/parley-a2a/parley/a2a"

// known makes of what the agent said something that this server can say: members of
// later versions are dropped, and a part of an unknown kind becomes data.
func known(el *a2a.StreamResponse) {
	switch {
	case el.Message != nil:
		knownMessage(el.Message)
	case el.StatusUpdate != nil:
		knownStatus(&el.StatusUpdate.Status)
	case el.ArtifactUpdate != nil:
		knownArtifact(el.ArtifactUpdate.Artifact)
	case el.Task != nil:
		knownTask(el.Task)
	}
}

func knownTask(t *a2a.Task) {
	knownStatus(&t.Status)
	for _, a := range t.Artifacts {
		knownArtifact(a)
	}
	for _, m := range t.History {
		knownMessage(m)
	}
}

func knownStatus(s *a2a.TaskStatus) {
	s.Unknown = nil
	knownMessage(s.Message)
}

func knownMessage(m *a2a.Message) {
	if m != nil {
		m.Unknown = nil
		knownParts(m.Parts)
	}
}

func knownArtifact(a *a2a.Artifact) {
	if a != nil {
		a.Unknown = nil
		knownParts(a.Parts)
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
