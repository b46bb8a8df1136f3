/** JSON events in Splunk HEC envelopes, as forwarders send them: one after another. */

const FIRST_SECOND = 1_763_683_200

/** `metadata`: members that each envelope has beside its event and its time. */
export function hecEnvelopes(lines: readonly string[], metadata = ''): Buffer {
  const envelopes = lines.map((line, n) => {
    const time = `${FIRST_SECOND + Math.floor(n / 1_000)}.${String(n % 1_000).padStart(3, '0')}`
    return `{"time":${time},${metadata}"event":${line}}`
  })
  return Buffer.from(envelopes.join(''))
}
