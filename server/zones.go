package server

// Time zones are built in: months are those of an organization's zone, and a small image has no files of zones.
import _ "time/tzdata"
