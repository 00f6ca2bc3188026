package dialect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// Dialect is a form of the protocol on the wire. Version 0.2 has none of its own: a
// server reads it as 0.3, and 0.2 ignores what 0.3 adds.
type Dialect uint8

const (
	V01 Dialect = iota // 0.1: tasks/send
	V03                // 0.2 and 0.3: message/send
	// V0x is for the method names that 0.1 and 0.3 share: the version in which the task
	// was created decides.
	V0x
	V10 // 1.0: SendMessage
	V11 // the 1.1 draft: 1.0 with generations and timelines
	dialects
)

// Versions lists the protocol versions there are, best first, as A2A-Version and cards
// name them. The draft is last, because nobody should prefer it.
var Versions = []string{"1.0", "0.3", "0.2", "0.1", "1.1"}

// Preferred lists the versions as clients choose among those that are offered, best
// first. The draft comes after 1.0, which is final.
var Preferred = []string{"1.0", "1.1", "0.3", "0.2", "0.1"}

// Forms lists one version of each form on the wire, best first, for clients to try if a
// card is wrong. The other versions have one of these forms.
var Forms = []string{"1.0", "0.3", "0.1"}

// HasVersionHeader reports whether requests of a version carry A2A-Version.
func HasVersionHeader(version string) bool { return Minor(version) >= "0.3" }

// CardBesideInterface reports whether the extended card of a version is an ordinary
// document beside the interface, rather than the result of a method.
func CardBesideInterface(version string) bool { return version == "0.2" }

// Version returns a dialect's version as Major.Minor.
func (d Dialect) Version() string {
	switch d {
	case V01:
		return "0.1"
	case V03, V0x:
		return "0.3"
	case V11:
		return "1.1"
	}
	return "1.0"
}

func (d Dialect) String() string { return "A2A " + d.Version() }

// ParseVersion returns the dialect of a version such as 1.0, 0.3 or 1.0.1:
// patch numbers do not matter (§3.6).
func ParseVersion(version string) (Dialect, bool) {
	v := strings.TrimSpace(version)
	for _, known := range Versions {
		patch, ok := strings.CutPrefix(v, known)
		if !ok || patch != "" && (len(patch) == 1 || patch[0] != '.' || !digits(patch[1:])) {
			continue
		}
		return formOf[known], true
	}
	return 0, false
}

// formOf has the dialect of each of Versions.
var formOf = map[string]Dialect{"0.1": V01, "0.2": V03, "0.3": V03, "1.0": V10, "1.1": V11}

// Minor cuts a version to Major.Minor: a patch number is never sent (§3.6, §14.2.1).
func Minor(version string) string {
	parts := strings.SplitN(strings.TrimSpace(version), ".", 3)
	return strings.Join(parts[:min(len(parts), 2)], ".")
}

// settle decides between the version of a method name or route and A2A-Version. The
// name wins if they contradict each other, or if the version is missing, which by rule
// means 0.3 (§3.6.2), because many clients send none or always the same. Only strict
// refuses these. Unknown versions are always refused. The error is VersionNotSupported
// with the supported versions.
func settle(by Dialect, version string, strict bool) (Dialect, error) {
	v := strings.TrimSpace(version)
	if v == "" {
		if strict && by == V10 {
			return 0, unsupportedVersion("A2A-Version is missing, which means 0.3: send A2A-Version: %s", by.Version())
		}
		return by, nil
	}
	if err := CheckVersion(v); err != nil {
		return 0, err
	}
	switch asked, _ := ParseVersion(v); {
	case by == V10 && asked == V11:
		return V11, nil
	case by == V0x && asked == V01, by == V0x && asked == V03:
		return asked, nil
	case strict && asked != by && !(asked == V03 && by < V10):
		return 0, unsupportedVersion("A2A-Version %s does not have this operation: send A2A-Version: %s", clip(v, 32), by.Version())
	}
	return by, nil
}

func unsupportedVersion(format string, args ...any) error {
	e := a2a.Errorf(a2a.CodeVersionNotSupported, format, args...)
	e.Meta = map[string]string{"supportedVersions": strings.Join(Versions, ",")}
	return e
}

// DetectGRPC returns the dialect of a call to a gRPC service.
func DetectGRPC(service, version string, strict bool) (Dialect, error) {
	if service == GRPCServiceV03 {
		return settle(V03, version, strict)
	}
	return settle(V10, version, strict)
}

// ExtensionsHeader is the header in which a dialect lists extensions.
func ExtensionsHeader(d Dialect) string {
	if d < V10 {
		return "X-A2A-Extensions"
	}
	return "A2A-Extensions"
}

// CheckVersion returns nil for a version that ParseVersion knows.
func CheckVersion(version string) error {
	if _, ok := ParseVersion(version); ok {
		return nil
	}
	return unsupportedVersion("A2A-Version %q is not supported here: use %s", clip(version, 32), strings.Join(Versions, ", "))
}

func digits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

// DetectRPC returns the operation of a JSON-RPC method and the dialect it is called in
// (DIALECTS 1.7). The error is MethodNotFound and lists the known methods, or
// VersionNotSupported.
func DetectRPC(method, version string, strict bool) (Op, Dialect, error) {
	row, ok := methods[method]
	if !ok {
		if _, err := settle(V10, version, false); err != nil {
			return 0, 0, err // the version is judged first (DIALECTS A21)
		}
		return 0, 0, unknownMethod(method, version)
	}
	d, err := settle(row.dialect, version, strict)
	return row.op, d, err
}

// Says returns the dialect for an error about a call that cannot be recognised: that of
// the version; 0.3 if it is missing; otherwise 1.0.
func Says(version string) Dialect {
	if d, ok := ParseVersion(version); ok {
		return d
	}
	if strings.TrimSpace(version) == "" {
		return V03
	}
	return V10
}

// SaysREST is Says for a path of HTTP+JSON: without a version, a path below /v1 is of
// 0.3 and any other of 1.0.
func SaysREST(path, version string) Dialect {
	if strings.TrimSpace(version) == "" && !strings.HasPrefix(path, "/v1/") {
		return V10
	}
	return Says(version)
}

func unknownMethod(method, version string) error {
	d := Says(version)
	if strings.TrimSpace(version) == "" && !strings.Contains(method, "/") {
		d = V10 // names before it have a slash
	}
	var names []string
	for i := range Operations {
		if name := Operations[i].Methods[d]; name != "" {
			names = append(names, name)
		}
	}
	return a2a.Errorf(a2a.CodeMethodNotFound, "method %q is not known; %s has %s",
		clip(method, 64), d, strings.Join(names, ", "))
}

type methodRow struct {
	op      Op
	dialect Dialect
}

// methods maps a method name to its row. A name that two of the old dialects share
// belongs to V0x; one that both new ones share, to V10.
var methods = func() map[string]methodRow {
	m := map[string]methodRow{}
	for i := range Operations {
		o := &Operations[i]
		for _, d := range []Dialect{V01, V03, V10} {
			name := o.Methods[d]
			if name == "" {
				continue
			}
			if old, ok := m[name]; ok {
				if old.op != o.Op {
					panic(fmt.Sprintf("dialect: two operations are called %s", name))
				}
				d = V0x
			}
			m[name] = methodRow{o.Op, d}
		}
	}
	for _, a := range aliases {
		m[a.name] = methodRow{a.op, a.dialect}
	}
	return m
}()

// aliases are method names that no version has but some clients send. They are read and
// never written.
var aliases = []struct {
	name    string
	op      Op
	dialect Dialect
}{
	{"message.send", SendMessage, V03},                                       // a topic page, 2025-09 to 2026-02
	{"message.stream", SendStreamingMessage, V03},                            //
	{"task/get", GetTask, V01},                                               // prose of 0.1
	{"agent/authenticatedExtendedCard", GetExtendedAgentCard, V03},           // list of 0.3 §11.1.3
	{"ListTaskPushNotificationConfig", ListTaskPushNotificationConfigs, V10}, // 1.0.0-rc
}

// Has reports whether a dialect has an operation at all.
func (d Dialect) Has(op Op) bool {
	if d == V0x {
		d = V03
	}
	return Get(op).Methods[d] != "" || len(Get(op).Routes[d]) > 0
}

// Bindings returns the bindings a dialect has.
func (d Dialect) Bindings() []string {
	if d == V01 {
		return []string{a2a.BindingJSONRPC}
	}
	return []string{a2a.BindingJSONRPC, a2a.BindingHTTPJSON, a2a.BindingGRPC}
}

// Speaks reports whether a dialect has a binding.
func (d Dialect) Speaks(binding string) bool {
	return slices.ContainsFunc(d.Bindings(), func(b string) bool { return strings.EqualFold(b, binding) })
}
