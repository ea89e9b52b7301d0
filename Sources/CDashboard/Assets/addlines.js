// The lines of the form that adds tasks. Wrong lines are found before anything is sent.

const digest = /^(?:sha256[:=])?([0-9a-f]{64})$/i;

/**
 * Parses lines of a URL and, after blanks, an optional SHA-256 digest. Lines of `sha256sum` (`digest  URL`) work too.
 * Returns `{number, url, sha256}` or `{number, text, problem}` for each line that is not empty and no comment.
 */
export function parseLines(text) {
  const seen = new Map();
  const lines = [];
  text.split(/\r?\n/).forEach((line, index) => {
    const number = index + 1;
    const trimmed = line.trim();
    if (!trimmed || trimmed.startsWith("#")) return;
    let words = trimmed.split(/\s+/);
    if (words.length === 2 && digest.test(words[0])) words = [words[1].replace(/^\*/, ""), words[0]];
    const problem = wrong(words);
    if (problem) return lines.push({ number, text: trimmed, problem });
    const url = new URL(words[0]).href;
    const entry = { number, url: words[0], sha256: words[1]?.match(digest)[1].toLowerCase() };
    if (seen.has(url)) entry.problem = `repeats the URL of line ${seen.get(url)}; delete one of them`;
    else seen.set(url, number);
    entry.text = trimmed;
    lines.push(entry);
  });
  return lines;
}

function wrong([url, second, ...more]) {
  if (!/^[a-z][a-z0-9+.-]*:/i.test(url)) return "has no scheme; begin the line with https:// or http://";
  if (!/^https?:\/\//i.test(url)) return "does not begin with http:// or https://; Ferry fetches no other URLs";
  if (!URL.canParse(url)) return "is not a valid URL";
  if (new URL(url).href.length > 8000) return "is longer than 8000 characters";
  if (second && !digest.test(second)) return "has a second word that is not a SHA-256 digest of 64 hexadecimal digits";
  if (more.length) return "has more than two words; a line is a URL and an optional digest";
  return null;
}

/** Parses header fields, one a line. Returns `{fields, problems}`. */
export function parseHeaders(text) {
  const fields = {};
  const problems = [];
  text.split(/\r?\n/).forEach((line, index) => {
    if (!line.trim()) return;
    const match = line.match(/^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*(.*?)\s*$/);
    if (!match) problems.push({ number: index + 1, text: line, problem: "is not a header field; write Name: value" });
    else fields[match[1]] = fields[match[1]] ? `${fields[match[1]]}, ${match[2]}` : match[2];
  });
  return { fields, problems };
}

/** Parses `key:value` pairs with commas between them. */
export function parseLabels(text) {
  const labels = {};
  const problems = [];
  for (const part of text.split(",").map((item) => item.trim()).filter(Boolean)) {
    const colon = part.indexOf(":");
    if (colon < 1) problems.push({ text: part, problem: "is not a label; write key:value" });
    else labels[part.slice(0, colon).trim()] = part.slice(colon + 1).trim();
  }
  return { labels, problems };
}
