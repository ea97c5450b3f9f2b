package gateway

// ReplayGuard drops packets whose counter was seen before.
type ReplayGuard struct {
	highest map[string]uint32
}

// Accept reports whether the packet is new for this scale and remembers its counter.
func (g *ReplayGuard) Accept(scale string, counter uint32) bool {
	if counter <= g.highest[scale] {
		return false
	}
	g.highest[scale] = counter
	return true
}
