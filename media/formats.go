package media

import "strings"

// demuxers are the only containers that ffmpeg may read, by its names. None of them can name another file or address:
// playlists, concatenations, image sequences, SDP and DASH are absent on purpose.
var demuxers = strings.Join([]string{
	"mov", "mp3", "wav", "w64", "ogg", "flac", "matroska", "aac", "aiff", "amr", "asf", "caf", "avi", "mpegts", "mpeg",
	"flv", "au", "ac3",
}, ",")

// container is what a demuxer's content is called outside: a short name, and type and extension with and without video.
type container struct {
	name                      string
	audioMIME, audioExtension string
	videoMIME, videoExtension string
}

// containers is keyed by the first name of ffmpeg's demuxer.
var containers = map[string]container{
	"mov":      {"mp4", "audio/mp4", ".m4a", "video/mp4", ".mp4"},
	"mp3":      {"mp3", "audio/mpeg", ".mp3", "audio/mpeg", ".mp3"},
	"wav":      {"wav", "audio/wav", ".wav", "audio/wav", ".wav"},
	"w64":      {"w64", "audio/x-w64", ".w64", "audio/x-w64", ".w64"},
	"ogg":      {"ogg", "audio/ogg", ".ogg", "video/ogg", ".ogv"},
	"flac":     {"flac", "audio/flac", ".flac", "audio/flac", ".flac"},
	"matroska": {"matroska", "audio/x-matroska", ".mka", "video/x-matroska", ".mkv"},
	"webm":     {"webm", "audio/webm", ".webm", "video/webm", ".webm"},
	"aac":      {"aac", "audio/aac", ".aac", "audio/aac", ".aac"},
	"aiff":     {"aiff", "audio/aiff", ".aiff", "audio/aiff", ".aiff"},
	"amr":      {"amr", "audio/amr", ".amr", "audio/amr", ".amr"},
	"asf":      {"asf", "audio/x-ms-wma", ".wma", "video/x-ms-wmv", ".wmv"},
	"caf":      {"caf", "audio/x-caf", ".caf", "audio/x-caf", ".caf"},
	"avi":      {"avi", "video/x-msvideo", ".avi", "video/x-msvideo", ".avi"},
	"mpegts":   {"mpegts", "video/mp2t", ".ts", "video/mp2t", ".ts"},
	"mpeg":     {"mpeg", "video/mpeg", ".mpg", "video/mpeg", ".mpg"},
	"flv":      {"flv", "video/x-flv", ".flv", "video/x-flv", ".flv"},
	"au":       {"au", "audio/basic", ".au", "audio/basic", ".au"},
	"ac3":      {"ac3", "audio/ac3", ".ac3", "audio/ac3", ".ac3"},
}

// reading are the options before every input: nothing but files, nothing but the listed formats, no thread per core.
func reading() []string {
	return []string{"-protocol_whitelist", "file,pipe", "-format_whitelist", demuxers}
}

// quiet are ffmpeg's global options.
func quiet() []string {
	return []string{"-nostdin", "-hide_banner", "-loglevel", "error", "-threads", "1", "-filter_threads", "1"}
}
