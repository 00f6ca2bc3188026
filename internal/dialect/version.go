package dialect

import (
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// Versions lists the protocol versions this package speaks, best first, as
// they stand in A2A-Version and on cards.
var Versions = []string{"1.0"}

// CheckVersion judges the A2A-Version of a call by v1.0 name or route: nil, or
// VersionNotSupported with the supported versions. Patch numbers do not
// matter (§3.6). An empty version means 0.3 by rule, but most calls without
// one come from v1.0 clients that forgot it; only strict refuses them.
func CheckVersion(version string, strict bool) error {
	v := strings.TrimSpace(version)
	if v == "" {
		if !strict {
			return nil
		}
		return unsupportedVersion("A2A-Version is missing, which means 0.3: send A2A-Version: %s", Versions[0])
	}
	for _, known := range Versions {
		patch, ok := strings.CutPrefix(v, known)
		if ok && (patch == "" || len(patch) > 1 && patch[0] == '.' && digits(patch[1:])) {
			return nil
		}
	}
	return unsupportedVersion("A2A-Version %q is not supported here: use %s", clip(v, 32), strings.Join(Versions, ", "))
}

func unsupportedVersion(format string, args ...any) error {
	e := a2a.Errorf(a2a.CodeVersionNotSupported, format, args...)
	e.Meta = map[string]string{"supportedVersions": strings.Join(Versions, ",")}
	return e
}

func digits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}
