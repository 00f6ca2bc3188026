package a2a

// AppendJSON appends the ProtoJSON form.
func (c *AgentCard) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = text(b, "name", c.Name)
	b = text(b, "description", c.Description)
	b = objects(b, "supportedInterfaces", c.SupportedInterfaces)
	b = optObject(b, "provider", c.Provider)
	b = text(b, "version", c.Version)
	b = optText(b, "documentationUrl", c.DocumentationURL)
	b = c.Capabilities.AppendJSON(key(b, "capabilities"))
	b = optSchemes(b, c.SecuritySchemes)
	b = optRequirements(b, c.SecurityRequirements)
	b = texts(b, "defaultInputModes", c.DefaultInputModes)
	b = texts(b, "defaultOutputModes", c.DefaultOutputModes)
	b = objects(b, "skills", c.Skills)
	b = optObjects(b, "signatures", c.Signatures)
	b = optText(b, "iconUrl", c.IconURL)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (c AgentCard) MarshalJSON() ([]byte, error) { return c.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (c *AgentCard) UnmarshalJSON(doc []byte) error { return unmarshal(doc, c) }

func (c *AgentCard) decode(d *decoder) *fault {
	*c = AgentCard{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "name":
			return d.string(&c.Name)
		case "description":
			return d.string(&c.Description)
		case "supportedInterfaces", "supported_interfaces":
			return list(d, &c.SupportedInterfaces)
		case "provider":
			return pointer(d, &c.Provider)
		case "version":
			return d.string(&c.Version)
		case "documentationUrl", "documentation_url":
			return d.string(&c.DocumentationURL)
		case "capabilities":
			return plain(d, &c.Capabilities)
		case "securitySchemes", "security_schemes":
			return schemes(d, &c.SecuritySchemes)
		case "securityRequirements", "security_requirements":
			return requirements(d, &c.SecurityRequirements)
		case "defaultInputModes", "default_input_modes":
			return d.strings(&c.DefaultInputModes)
		case "defaultOutputModes", "default_output_modes":
			return d.strings(&c.DefaultOutputModes)
		case "skills":
			return list(d, &c.Skills)
		case "signatures":
			return list(d, &c.Signatures)
		case "iconUrl", "icon_url":
			return d.string(&c.IconURL)
		}
		return d.ignore()
	})
}

// AppendJSON appends the ProtoJSON form.
func (p *AgentProvider) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = text(b, "url", p.URL)
	b = text(b, "organization", p.Organization)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (p AgentProvider) MarshalJSON() ([]byte, error) { return p.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (p *AgentProvider) UnmarshalJSON(doc []byte) error { return unmarshal(doc, p) }

func (p *AgentProvider) decode(d *decoder) *fault {
	*p = AgentProvider{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "url":
			return d.string(&p.URL)
		case "organization":
			return d.string(&p.Organization)
		}
		return d.ignore()
	})
}

// AppendJSON appends the ProtoJSON form.
func (c *AgentCapabilities) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = optBoolPointer(b, "streaming", c.Streaming)
	b = optBoolPointer(b, "pushNotifications", c.PushNotifications)
	b = optObjects(b, "extensions", c.Extensions)
	b = optBoolPointer(b, "extendedAgentCard", c.ExtendedAgentCard)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (c AgentCapabilities) MarshalJSON() ([]byte, error) { return c.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (c *AgentCapabilities) UnmarshalJSON(doc []byte) error { return unmarshal(doc, c) }

func (c *AgentCapabilities) decode(d *decoder) *fault {
	*c = AgentCapabilities{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "streaming":
			return d.boolPointer(&c.Streaming)
		case "pushNotifications", "push_notifications":
			return d.boolPointer(&c.PushNotifications)
		case "extensions":
			return list(d, &c.Extensions)
		case "extendedAgentCard", "extended_agent_card":
			return d.boolPointer(&c.ExtendedAgentCard)
		}
		return d.ignore()
	})
}

// AppendJSON appends the ProtoJSON form.
func (e *AgentExtension) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = optText(b, "uri", e.URI)
	b = optText(b, "description", e.Description)
	b = optBool(b, "required", e.Required)
	b = optRaw(b, "params", e.Params)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (e AgentExtension) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (e *AgentExtension) UnmarshalJSON(doc []byte) error { return unmarshal(doc, e) }

func (e *AgentExtension) decode(d *decoder) *fault {
	*e = AgentExtension{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "uri":
			return d.string(&e.URI)
		case "description":
			return d.string(&e.Description)
		case "required":
			return d.bool(&e.Required)
		case "params":
			return d.free(&e.Params)
		}
		return d.ignore()
	})
}

// AppendJSON appends the ProtoJSON form.
func (s *AgentSkill) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = text(b, "id", s.ID)
	b = text(b, "name", s.Name)
	b = text(b, "description", s.Description)
	b = texts(b, "tags", s.Tags)
	b = optTexts(b, "examples", s.Examples)
	b = optTexts(b, "inputModes", s.InputModes)
	b = optTexts(b, "outputModes", s.OutputModes)
	b = optRequirements(b, s.SecurityRequirements)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (s AgentSkill) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (s *AgentSkill) UnmarshalJSON(doc []byte) error { return unmarshal(doc, s) }

func (s *AgentSkill) decode(d *decoder) *fault {
	*s = AgentSkill{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "id":
			return d.string(&s.ID)
		case "name":
			return d.string(&s.Name)
		case "description":
			return d.string(&s.Description)
		case "tags":
			return d.strings(&s.Tags)
		case "examples":
			return d.strings(&s.Examples)
		case "inputModes", "input_modes":
			return d.strings(&s.InputModes)
		case "outputModes", "output_modes":
			return d.strings(&s.OutputModes)
		case "securityRequirements", "security_requirements":
			return requirements(d, &s.SecurityRequirements)
		}
		return d.ignore()
	})
}

// AppendJSON appends the ProtoJSON form.
func (i *AgentInterface) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = text(b, "url", i.URL)
	b = text(b, "protocolBinding", i.ProtocolBinding)
	b = optText(b, "tenant", i.Tenant)
	b = text(b, "protocolVersion", i.ProtocolVersion)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (i AgentInterface) MarshalJSON() ([]byte, error) { return i.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (i *AgentInterface) UnmarshalJSON(doc []byte) error { return unmarshal(doc, i) }

func (i *AgentInterface) decode(d *decoder) *fault {
	*i = AgentInterface{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "url":
			return d.string(&i.URL)
		case "protocolBinding", "protocol_binding":
			return d.string(&i.ProtocolBinding)
		case "tenant":
			return d.string(&i.Tenant)
		case "protocolVersion", "protocol_version":
			return d.string(&i.ProtocolVersion)
		}
		return d.ignore()
	})
}

// AppendJSON appends the ProtoJSON form.
func (s *AgentCardSignature) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = text(b, "protected", s.Protected)
	b = text(b, "signature", s.Signature)
	b = optRaw(b, "header", s.Header)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (s AgentCardSignature) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (s *AgentCardSignature) UnmarshalJSON(doc []byte) error { return unmarshal(doc, s) }

func (s *AgentCardSignature) decode(d *decoder) *fault {
	*s = AgentCardSignature{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "protected":
			return d.string(&s.Protected)
		case "signature":
			return d.string(&s.Signature)
		case "header":
			return d.free(&s.Header)
		}
		return d.ignore()
	})
}
