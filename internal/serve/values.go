package serve

import (
	"net"
	"net/netip"
	"strings"

	"github.com/parley-a2a/parley/internal/admin"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/plain"
)

// Values returns all settings in the order of the reference, followed by the file's
// settings for agents, if there is a file.
func (s *Settings) Values(line Line) (list []admin.Setting) {
	for _, row := range config.Rows() {
		set, inFile := s.ofFile[row.Flag]
		v := admin.Setting{Name: row.Path, Value: strings.ReplaceAll(row.Default, "`", ""), Source: "default"} // the reference is in Markdown
		starred, ok := strings.CutSuffix(row.Default, "*")
		switch {
		case inFile:
			v.Value, v.Source = strings.Join(set.Shown, ", "), s.place(set.Line, set.Column)
		case line.Sets(row.Flag):
			v.Value, v.Source = line.shown(row), "flag --"+row.Flag
		case row.Flag == "store" && s.fromEnv:
			v.Value, v.Source = s.location.String(), "environment variable "+database.Env
		case ok:
			v.Value = starred + " where others than this machine's users can call, else none"
		}
		list = append(list, v)
	}
	if s.File == nil {
		return list
	}
	for _, v := range s.File.Shown() {
		list = append(list, admin.Setting{Name: v.Path, Value: v.Value, Source: s.place(v.Line, v.Column)})
	}
	return list
}

// shown returns the value of a flag on the command line, without passwords.
func (l Line) shown(row config.Row) string {
	var values []string
	for _, f := range l {
		switch {
		case f.Name != row.Flag:
			continue
		case f.Name == "egress-proxy" || f.Name == "store" && len(database.Passwords(f.Value)) > 0:
			values = append(values, plain.Redacted)
		case row.Negated:
			values = append(values, map[string]string{"true": "false", "false": "true"}[f.Value])
		default:
			values = append(values, f.Value)
		}
	}
	return strings.Join(values, ", ")
}

// Admitted fails, without listening, if Open would fail after listening because no flag
// says who may call.
func (s *Settings) Admitted() error {
	host, _, _ := net.SplitHostPort(s.listen)
	if _, err := netip.ParseAddr(host); err != nil && host != "" { // a name, which may resolve to anything
		return nil
	}
	at, err := net.ResolveTCPAddr("tcp", s.listen)
	if err != nil {
		return err
	}
	return s.admit(s.local(at), at)
}
