package speech

import "strings"

// Language reduces what people and services write ("de-DE", "German", " DE ") to a code that engines know. What is not
// known, "auto" included, is empty: the engine finds out by itself.
func Language(written string) string {
	written = strings.ToLower(strings.TrimSpace(written))
	if code, ok := languageCodes[written]; ok {
		return code
	}
	code, _, _ := strings.Cut(strings.ReplaceAll(written, "_", "-"), "-")
	for _, known := range languageCodes {
		if code == known {
			return code
		}
	}
	return ""
}

// languageCodes are the languages of the Whisper models, by their English names.
var languageCodes = map[string]string{
	"afrikaans": "af", "albanian": "sq", "amharic": "am", "arabic": "ar", "armenian": "hy", "assamese": "as",
	"azerbaijani": "az", "bashkir": "ba", "basque": "eu", "belarusian": "be", "bengali": "bn", "bosnian": "bs",
	"breton": "br", "bulgarian": "bg", "burmese": "my", "cantonese": "yue", "castilian": "es", "catalan": "ca",
	"chinese": "zh", "croatian": "hr", "czech": "cs", "danish": "da", "dutch": "nl", "english": "en", "estonian": "et",
	"faroese": "fo", "finnish": "fi", "flemish": "nl", "french": "fr", "galician": "gl", "georgian": "ka",
	"german": "de", "greek": "el", "gujarati": "gu", "haitian": "ht", "haitian creole": "ht", "hausa": "ha",
	"hawaiian": "haw", "hebrew": "he", "hindi": "hi", "hungarian": "hu", "icelandic": "is", "indonesian": "id",
	"italian": "it", "japanese": "ja", "javanese": "jw", "kannada": "kn", "kazakh": "kk", "khmer": "km", "korean": "ko",
	"lao": "lo", "latin": "la", "latvian": "lv", "letzeburgesch": "lb", "lingala": "ln", "lithuanian": "lt",
	"luxembourgish": "lb", "macedonian": "mk", "malagasy": "mg", "malay": "ms", "malayalam": "ml", "maltese": "mt",
	"mandarin": "zh", "maori": "mi", "marathi": "mr", "moldavian": "ro", "mongolian": "mn", "myanmar": "my",
	"nepali": "ne", "norwegian": "no", "nynorsk": "nn", "occitan": "oc", "panjabi": "pa", "pashto": "ps",
	"persian": "fa", "polish": "pl", "portuguese": "pt", "punjabi": "pa", "pushto": "ps", "romanian": "ro",
	"russian": "ru", "sanskrit": "sa", "serbian": "sr", "shona": "sn", "sindhi": "sd", "sinhala": "si",
	"sinhalese": "si", "slovak": "sk", "slovenian": "sl", "somali": "so", "spanish": "es", "sundanese": "su",
	"swahili": "sw", "swedish": "sv", "tagalog": "tl", "tajik": "tg", "tamil": "ta", "tatar": "tt", "telugu": "te",
	"thai": "th", "tibetan": "bo", "turkish": "tr", "turkmen": "tk", "ukrainian": "uk", "urdu": "ur", "uzbek": "uz",
	"valencian": "ca", "vietnamese": "vi", "welsh": "cy", "yiddish": "yi", "yoruba": "yo",
}
