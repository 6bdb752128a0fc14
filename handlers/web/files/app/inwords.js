// Numbers and days in words, for who came to read and not to measure.
import { language } from "./texts.js";

const small = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
  "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"];
const tens = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

// inWords returns a count: exactly below a hundred, and above as about so many; in another language than English in digits.
export function inWords(n) {
  if (language !== "en") return n.toLocaleString(language);
  if (n < 20) return small[n];
  if (n < 100) return n % 10 === 0 ? tens[n / 10] : `${tens[Math.floor(n / 10)]}-${small[n % 10]}`;
  const [unit, name] = n < 999.5 ? [100, "hundred"] : n < 999_500 ? [1000, "thousand"] : [1e6, "million"];
  const times = n / unit;
  const rounded = times < 20 ? Math.round(times) : times < 100 ? 10 * Math.round(times / 10) : 100 * Math.round(times / 100);
  const about = rounded * unit === n ? "" : "about ";
  return `${about}${rounded < 100 ? inWords(rounded) : `${small[rounded / 100]} hundred`} ${name}`;
}

const months = new Intl.DateTimeFormat("en", { month: "long" });
const weekdays = new Intl.DateTimeFormat("en", { weekday: "long" });
const day = 86_400_000;

// ago returns how many days ago something was, in the reader's language.
function ago(days) {
  const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
  if (days < 28) return relative.format(-Math.max(0, days), "day");
  return days < 330 ? relative.format(-Math.round(days / 30.4), "month") : relative.format(-Math.round(days / 365), "year");
}

// whenInWords returns when something was, as from now; undefined for no time.
export function whenInWords(time, now = new Date()) {
  const then = new Date(time ?? NaN);
  if (Number.isNaN(then.getTime())) return undefined;
  const startOf = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
  const days = Math.round((startOf(now) - startOf(then)) / day);
  if (language !== "en") return ago(days);
  if (days <= 0) return "today";
  if (days === 1) return "yesterday";
  if (days < 7) return `on ${weekdays.format(then)}`;
  if (days < 330) return `in ${months.format(then)}`;
  return days < 700 ? "about a year ago" : `about ${inWords(Math.round(days / 365))} years ago`;
}
