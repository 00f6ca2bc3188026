package output

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// Card shows a card; chosen is the interface for calls, nil if this program speaks none of the
// card's. signatures says what is known of them.
func Card(p Printer, c *a2a.AgentCard, chosen *a2a.AgentInterface, signatures string, validated bool) error {
	return p.Doc(c, func(out *Writer) {
		f := out.Field
		f("Name", c.Name)
		f("Description", c.Description)
		f("Version", c.Version)
		if c.Provider != nil {
			f("Provider", strings.TrimSpace(c.Provider.Organization+" "+c.Provider.URL))
		}
		f("Documentation", c.DocumentationURL)
		f("Icon", c.IconURL)
		f("Streaming", yesNo(is(c.Capabilities.Streaming)))
		f("Push notifications", yesNo(is(c.Capabilities.PushNotifications)))
		f("Extended card", yesNo(is(c.Capabilities.ExtendedAgentCard)))
		for _, x := range c.Capabilities.Extensions {
			required := ""
			if x.Required {
				required = " (required)"
			}
			f("Extension", x.URI+required)
		}
		for _, i := range c.SupportedInterfaces {
			f("Interface", interfaceLine(i))
		}
		if chosen != nil {
			f("Transport", interfaceLine(chosen))
		} else {
			f("Transport", "none that this program speaks")
		}
		for _, name := range slices.Sorted(maps.Keys(c.SecuritySchemes)) {
			f("Security scheme", name+" ("+schemeKind(c.SecuritySchemes[name])+")")
		}
		for _, r := range c.SecurityRequirements {
			f("Security requirement", requirementLine(r))
		}
		f("Signatures", signatures)
		f("Input modes", strings.Join(c.DefaultInputModes, ", "))
		f("Output modes", strings.Join(c.DefaultOutputModes, ", "))
		schemas, _ := c.CallableSkills()
		for _, s := range c.Skills {
			skill(out, s, schemas[s.ID])
		}
		if validated {
			f("Valid", "yes")
		}
	})
}

func skill(out *Writer, s *a2a.AgentSkill, schema a2a.JSON) {
	f := out.Field
	f("Skill", strings.TrimSpace(s.ID+" "+s.Name))
	f("Skill description", s.Description)
	f("Skill arguments", argumentsIn(schema))
	if !out.verbose {
		return
	}
	f("Skill tags", strings.Join(s.Tags, ", "))
	for _, x := range s.Examples {
		f("Skill example", x)
	}
	f("Skill input modes", strings.Join(s.InputModes, ", "))
	f("Skill output modes", strings.Join(s.OutputModes, ", "))
	for _, r := range s.SecurityRequirements {
		f("Skill security requirement", requirementLine(r))
	}
}

func interfaceLine(i *a2a.AgentInterface) string {
	line := i.ProtocolBinding + " " + i.ProtocolVersion + " " + i.URL
	if i.Tenant != "" {
		line += " tenant " + i.Tenant
	}
	return line
}

func schemeKind(s *a2a.SecurityScheme) string {
	switch {
	case s == nil:
	case s.APIKey != nil:
		return "API key in " + s.APIKey.Location + " " + s.APIKey.Name
	case s.HTTPAuth != nil:
		return "HTTP " + s.HTTPAuth.Scheme
	case s.OAuth2 != nil:
		return "OAuth 2"
	case s.OpenIDConnect != nil:
		return "OpenID Connect"
	case s.MutualTLS != nil:
		return "mutual TLS"
	}
	return "unknown"
}

func requirementLine(r a2a.SecurityRequirement) string {
	if len(r) == 0 {
		return "none"
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(r)) {
		if scopes := r[name]; len(scopes) > 0 {
			name += " (" + strings.Join(scopes, ", ") + ")"
		}
		all = append(all, name)
	}
	return strings.Join(all, " and ")
}

func is(b *bool) bool { return b != nil && *b }

// argumentsIn lists the arguments of a skill, required ones first, if its schema has the usual
// form.
func argumentsIn(schema a2a.JSON) string {
	var in struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if len(schema) == 0 || json.Unmarshal(schema, &in) != nil {
		return ""
	}
	names := slices.Clone(in.Required)
	for _, name := range slices.Sorted(maps.Keys(in.Properties)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for i, name := range names {
		var about []string
		if kind, ok := in.Properties[name].Type.(string); ok {
			about = append(about, kind)
		}
		if i < len(in.Required) {
			about = append(about, "required")
		}
		if len(about) > 0 {
			names[i] += " (" + strings.Join(about, ", ") + ")"
		}
	}
	return strings.Join(names, ", ")
}
