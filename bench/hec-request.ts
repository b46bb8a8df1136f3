/** JSON events in Splunk HEC envelopes, as forwarders send them: one after another. */

const FIRST_SECOND = 1_763_683_200
const METADATA =
  '"host":"web-1.example.com","source":"/var/log/app.log","sourcetype":"_json","index":"main"'

/** Each with its time. */
export function hecEnvelopes(lines: readonly string[]): Buffer {
  return Buffer.from(lines.map((line, n) => `{"time":${timeOf(n)},"event":${line}}`).join(''))
}

/** With all four members of metadata, too; no event has one of their names. */
export function hecWithMetadata(lines: readonly string[]): Buffer {
  const envelopes = lines.map((line, n) => {
    return `{"time":${timeOf(n)},${METADATA},"event":${withoutHost(line)}}`
  })
  return Buffer.from(envelopes.join(''))
}

/** The same content as JSON lines. */
export function hecAsJsonLines(lines: readonly string[]): Buffer {
  const events = lines.map((line) => `${withoutHost(line).slice(0, -1)},${METADATA}}\n`)
  return Buffer.from(events.join(''))
}

function timeOf(event: number): string {
  const ms = String(event % 1_000).padStart(3, '0')
  return `${FIRST_SECOND + Math.floor(event / 1_000)}.${ms}`
}

function withoutHost(line: string): string {
  return line.replace('"host":', '"node":')
}
