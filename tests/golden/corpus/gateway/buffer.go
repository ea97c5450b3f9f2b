package gateway

// RingBuffer keeps packets on the card for up to thirty days; the oldest are overwritten first.
type RingBuffer struct {
	packets []Packet
	limit   int
}

// Packet is one reading as the radio received it.
type Packet struct {
	Counter uint32
	Payload [24]byte
}

// Append adds a packet and drops the oldest one when the buffer is full.
func (b *RingBuffer) Append(p Packet) {
	if len(b.packets) == b.limit {
		b.packets = b.packets[1:]
	}
	b.packets = append(b.packets, p)
}

// Pending returns what has not been acknowledged, oldest first.
func (b *RingBuffer) Pending() []Packet {
	return append([]Packet(nil), b.packets...)
}

// Acknowledge forgets all packets up to the counter.
func (b *RingBuffer) Acknowledge(counter uint32) {
	for len(b.packets) > 0 && b.packets[0].Counter <= counter {
		b.packets = b.packets[1:]
	}
}
