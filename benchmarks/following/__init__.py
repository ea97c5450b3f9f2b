"""An index that follows the disk: how quickly, and with how many clients at once."""
