package server

import (
	_ "time/tzdata" // months are those of an organization's zone, and a small image has no files of zones
)
