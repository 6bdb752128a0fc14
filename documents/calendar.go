package documents

import "strings"

// readCalendar writes a calendar (iCalendar) or an address book (vCard) to w: each event, task or address becomes a
// paragraph of its fields. Fields for programs are left out, such as UID, PHOTO and all that begin with X-. The
// title is always "" and the error nil.
func readCalendar(w *writer, text string) (string, error) {
	out := recordWriter{w: w}
	var fields []field
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\n ", ""), "\n\t", "") // long lines are folded
	for line := range strings.SplitSeq(text, "\n") {
		name, value, found := strings.Cut(strings.TrimSpace(line), ":")
		if !found {
			continue
		}
		name, _, _ = strings.Cut(name, ";") // parameters
		switch name {
		case "BEGIN", "END":
			out.add(fields)
			fields = nil
		case "PRODID", "VERSION", "CALSCALE", "UID", "DTSTAMP", "SEQUENCE", "TZID", "TZOFFSETFROM", "TZOFFSETTO",
			"PHOTO", "REV", "CREATED", "LAST-MODIFIED", "TRANSP", "CLASS", "N", "METHOD":
		default:
			if !strings.HasPrefix(name, "X-") {
				fields = append(fields, field{calendarName(name), calendarValue(name, value)})
			}
		}
	}
	out.add(fields)
	out.close()
	return "", nil
}

// calendarName returns the name of a field for people: "Start" for DTSTART, "Location" for LOCATION.
func calendarName(name string) string {
	switch name {
	case "DTSTART":
		return "Start"
	case "DTEND":
		return "End"
	case "FN":
		return "Name"
	}
	return strings.ToUpper(name[:min(1, len(name))]) + strings.ToLower(name[min(1, len(name)):])
}

// calendarValue returns the value of a field: a time as 2025-01-10 09:00, and text without its escapes.
func calendarValue(name, value string) string {
	if date, time, _ := strings.Cut(value, "T"); strings.HasPrefix(name, "DT") && len(date) == 8 {
		value = date[:4] + "-" + date[4:6] + "-" + date[6:]
		if len(time) >= 4 {
			value += " " + time[:2] + ":" + time[2:4]
		}
		if strings.HasSuffix(time, "Z") {
			value += " UTC"
		}
		return value
	}
	value = strings.TrimPrefix(strings.TrimPrefix(value, "mailto:"), "MAILTO:")
	return strings.NewReplacer(`\n`, " ", `\N`, " ", `\,`, ",", `\;`, ";", `\\`, `\`).Replace(value)
}
