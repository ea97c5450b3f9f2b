package gateway

import (
	"errors"
	"time"
)

// ErrNoCarrier is returned when the modem finds no network.
var ErrNoCarrier = errors.New("no carrier")

const maxBackoff = 60 * time.Minute

// Uplink sends buffered packets to the collector over a mobile connection.
type Uplink struct {
	dial   func() (Conn, error)
	buffer *RingBuffer
}

// nextBackoff doubles the waiting time up to an hour.
func nextBackoff(last time.Duration) time.Duration {
	if last == 0 {
		return time.Minute
	}
	if next := 2 * last; next < maxBackoff {
		return next
	}
	return maxBackoff
}

// Flush dials in, sends everything that is buffered and hangs up.
// Packets stay in the buffer until the collector has acknowledged them.
func (u *Uplink) Flush() error {
	conn, err := u.dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, packet := range u.buffer.Pending() {
		if err := conn.Send(packet); err != nil {
			return err
		}
		u.buffer.Acknowledge(packet.Counter)
	}
	return nil
}
